import { ServiceError } from '../../core/error.ts';
import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';
import type { Recognition, RecognitionRequest, SpeechModel } from '../speech-engine.ts';
import { bestReading } from './best-reading.ts';
import { decode } from './decode.ts';
import { createHotwordBias } from './hotword-bias.ts';
import { createHotwordTrie } from './hotword-trie.ts';
import { MEL_SAMPLES_MAX } from './log-mel.ts';
import { levelOf } from './loud-frames.ts';
import { hotwordsOf, promptTokens } from './prompt.ts';
import { logSum } from './scores.ts';
import { seededRandom } from './seeded-random.ts';
import type { WhisperModel } from './whisper-model.ts';
import { heardWords } from './heard-words.ts';

/** Hears speech with a model that is loaded. One call after another: whose turn it is others decide. */
export interface Recognizer {
  readonly model: SpeechModel;
  /** @throws ServiceError `invalid-request` for a language that the model does not know; the signal's reason. */
  recognize(request: RecognitionRequest, signal: AbortSignal): Promise<Recognition>;
}

/** From whisper's reference: tokens of one text. */
const TOKENS_MAX = 224;

/** Ours: tokens of a second of speech, and so many more: nobody speaks faster, but a loop does. */
const TOKENS_PER_SECOND = 25;
const TOKENS_BESIDE = 24;

/** Ours: the same speech gives the same text. */
const SEED = 1;

export function createRecognizer(whisper: WhisperModel): Recognizer {
  const { tokens } = whisper;

  const languageToken = (language: string): number => {
    const token = tokens.languages.get(language);
    if (token !== undefined) return token;
    const message = `The model does not know the language '${language}'.`;
    throw new ServiceError('invalid-request', message, { param: 'languages' });
  };

  return {
    model: { languages: [...tokens.languages.keys()], samplesMax: MEL_SAMPLES_MAX },
    async recognize({ samples, languages, context, hotwords: wanted, wantsWords }, signal) {
      for (const language of languages) languageToken(language);
      signal.throwIfAborted();
      if (isStill(samples)) return heardNothing(languages[0] ?? tokens.languages.keys().next().value ?? '');
      const speech = await whisper.encode(samples);
      signal.throwIfAborted();
      const { scores } = await speech.read().step([tokens.start]);
      const noSpeech = Math.exp((scores[tokens.noSpeech] ?? -Infinity) - logSum(scores));
      const language = likeliest(languages.length > 0 ? languages : tokens.languages.keys(), (each) => {
        return scores[languageToken(each)] ?? -Infinity;
      });

      const hotwords = hotwordsOf(wanted, language);
      const random = seededRandom(SEED);
      let generated = 0;
      const reading = await bestReading(
        { hotwords, noSpeech, textOf: ({ tokens: text }) => tokens.decode(text).trim() },
        async ({ hasContext, hotwords: near, temperature }) => {
          const before = { ...(hasContext && context !== undefined ? { context } : {}), hotwords: near };
          const prompt = promptTokens(before, tokens.encode);
          const decoded = await decode(
            {
              reading: speech.read(),
              head: [
                ...(prompt.length > 0 ? [tokens.startOfPrevious, ...prompt] : []),
                tokens.start,
                languageToken(language),
                tokens.transcribe,
                tokens.noTimestamps,
              ],
              bias:
                near.length > 0 ? createHotwordBias(createHotwordTrie(near, tokens.encode), tokens.decode) : undefined,
              temperature,
              random,
              tokensMax: tokensMaxOf(samples.length / SPEECH_SAMPLE_RATE),
              keepsAttention: wantsWords,
            },
            tokens,
            signal,
          );
          generated += decoded.generated;
          return decoded;
        },
      );
      return {
        text: reading.text,
        language,
        words: wantsWords && reading.text !== '' ? heardWords(reading.decoded, tokens, samples) : [],
        noSpeech,
        logProbability: reading.decoded.logProbability,
        tokens: generated,
        isBiasDropped: reading.isBiasDropped,
      };
    },
  };
}

/** Ours: −70 dB. Whisper makes everything as loud as it can be, and hears words in nothing at all. */
const STILL_LEVEL = 10 ** (-70 / 20);

/** Samples that are looked at together: 20 ms. */
const LEVEL_SAMPLES = 320;

function isStill(samples: Float32Array): boolean {
  for (let at = 0; at < samples.length; at += LEVEL_SAMPLES)
    if (levelOf(samples.subarray(at, at + LEVEL_SAMPLES)) > STILL_LEVEL) return false;
  return true;
}

const heardNothing = (language: string): Recognition => ({
  text: '',
  language,
  words: [],
  noSpeech: 1,
  logProbability: 0,
  tokens: 0,
  isBiasDropped: false,
});

const tokensMaxOf = (seconds: number): number =>
  Math.min(TOKENS_MAX, Math.ceil(TOKENS_BESIDE + TOKENS_PER_SECOND * seconds));

function likeliest(languages: Iterable<string>, scoreOf: (language: string) => number): string {
  let [best, top] = ['', -Infinity];
  for (const language of languages) {
    const score = scoreOf(language);
    if (best === '' || score > top) [best, top] = [language, score];
  }
  return best;
}
