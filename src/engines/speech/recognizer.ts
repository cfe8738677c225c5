import { createNoTranslationError, createUnsupportedLanguageError } from '../../core/generation-errors.ts';
import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';
import type { Recognition, RecognitionRequest, SpeechModel } from '../speech-engine.ts';
import { decodeWithFallback } from './decode-with-fallback.ts';
import { decodeText } from './decode-text.ts';
import { searchBeams } from './search-beams.ts';
import { createHotwordBias } from './hotword-bias.ts';
import { createHotwordTrie } from './hotword-trie.ts';
import { MEL_SAMPLES_MAX } from './log-mel-transform.ts';
import { mergeHotwords } from './merge-hotwords.ts';
import { computeRmsLevel } from './find-loud-frames.ts';
import { selectHotwords, buildPromptTokens } from './build-prompt-tokens.ts';
import { logSumExp } from './scores.ts';
import { createSeededRandom } from '../../lib/seeded-random.ts';
import type { WhisperModel } from './whisper-model.ts';
import { computeWordTimes } from './compute-word-times.ts';

/** Recognizes speech with a loaded model. Callers must not run two calls at once. */
export interface Recognizer {
  readonly model: SpeechModel;
  /** @throws ServiceError `invalid-request` for what the model does not support: a language, translation; the signal's reason. */
  recognize(request: RecognitionRequest, signal: AbortSignal): Promise<Recognition>;
}

export interface RecognizerOptions {
  /** Texts that the search continues side by side; 1: takes the likeliest token each time. */
  readonly beamWidth: number;
}

/** Maximum number of tokens of one text (Whisper's reference implementation). */
const TOKENS_MAX = 224;

/** Token limit per second of audio, plus a constant. Nobody speaks faster, but a looping model does. */
const TOKENS_PER_SECOND = 25;
const EXTRA_TOKENS = 24;

/** A fixed seed, so that the same audio gives the same text. */
const SEED = 1;

export function createRecognizer(whisper: WhisperModel, { beamWidth }: RecognizerOptions): Recognizer {
  const { tokens } = whisper;

  const getLanguageToken = (language: string): number => {
    const token = tokens.languages.get(language);
    if (token !== undefined) return token;
    throw createUnsupportedLanguageError(language, 'languages');
  };

  return {
    model: {
      languages: [...tokens.languages.keys()],
      samplesMax: MEL_SAMPLES_MAX,
      translates: tokens.translate !== undefined,
    },
    async recognize(request, signal) {
      const {
        samples,
        languages,
        task = 'transcribe',
        context,
        hotwords: requestedHotwords,
        includeWords,
        isLive,
      } = request;
      for (const language of languages) getLanguageToken(language);
      const taskToken = tokens[task];
      if (taskToken === undefined) throw createNoTranslationError();
      const getTextLanguage = (spoken: string): string => (task === 'translate' ? 'en' : spoken);
      signal.throwIfAborted();
      if (isSilent(samples)) {
        const spoken = languages[0] ?? tokens.languages.keys().next().value ?? '';
        return createSilentRecognition(getTextLanguage(spoken));
      }
      const speech = await whisper.encode(samples);
      signal.throwIfAborted();
      const { scores } = await speech.createSession().step([tokens.startOfTranscript]);
      const noSpeech = Math.exp((scores[tokens.noSpeech] ?? -Infinity) - logSumExp(scores));
      const language = findLikeliestLanguage(languages.length > 0 ? languages : tokens.languages.keys(), (each) => {
        return scores[getLanguageToken(each)] ?? -Infinity;
      });

      const hotwords = selectHotwords(requestedHotwords, getTextLanguage(language));
      const random = createSeededRandom(SEED);
      let generated = 0;
      const candidate = await decodeWithFallback(
        {
          hotwords,
          noSpeech,
          getText: ({ tokens: text }) => tokens.decode(text).trim(),
          mergeHotwords: (plain, biased, boosted) =>
            mergeHotwords(plain.tokens, biased.tokens, { hotwords: boosted, decode: tokens.decode }),
        },
        async ({ hasContext, hotwords: similar, temperature, knownText }) => {
          const promptInput = { ...(hasContext && context !== undefined ? { context } : {}), hotwords: similar };
          const prompt = buildPromptTokens(promptInput, tokens.encode);
          const common = {
            session: speech.createSession(),
            promptTokens: [
              ...(prompt.length > 0 ? [tokens.startOfPrevious, ...prompt] : []),
              tokens.startOfTranscript,
              getLanguageToken(language),
              taskToken,
              tokens.noTimestamps,
            ],
            tokensMax: computeTokensMax(samples.length / SPEECH_SAMPLE_RATE),
            includeAttention: includeWords,
          };
          const bias =
            similar.length > 0 && !knownText
              ? createHotwordBias(createHotwordTrie(similar, tokens.encode), tokens.decode)
              : undefined;
          const isBeamSearch = !isLive && !bias && !knownText && temperature === 0 && beamWidth > 1;
          const decoded = isBeamSearch
            ? await searchBeams({ ...common, width: beamWidth }, tokens, signal)
            : await decodeText({ ...common, bias, knownText, temperature, random }, tokens, signal);
          generated += decoded.generated;
          return decoded;
        },
      );
      return {
        text: candidate.text,
        language: getTextLanguage(language),
        words: includeWords && candidate.text !== '' ? computeWordTimes(candidate.decoded, tokens, samples) : [],
        noSpeech,
        logProbability: candidate.decoded.logProbability,
        tokens: generated,
        isBiasDropped: candidate.isBiasDropped,
      };
    },
  };
}

/** −70 dB. Whisper normalizes the loudness of its input, and recognizes words in audio that is practically silent. */
const SILENCE_LEVEL = 10 ** (-70 / 20);

/** Samples per level measurement: 20 ms. */
const LEVEL_BLOCK_SAMPLES = 320;

function isSilent(samples: Float32Array): boolean {
  for (let at = 0; at < samples.length; at += LEVEL_BLOCK_SAMPLES)
    if (computeRmsLevel(samples.subarray(at, at + LEVEL_BLOCK_SAMPLES)) > SILENCE_LEVEL) return false;
  return true;
}

const createSilentRecognition = (language: string): Recognition => ({
  text: '',
  language,
  words: [],
  noSpeech: 1,
  logProbability: 0,
  tokens: 0,
  isBiasDropped: false,
});

const computeTokensMax = (seconds: number): number =>
  Math.min(TOKENS_MAX, Math.ceil(EXTRA_TOKENS + TOKENS_PER_SECOND * seconds));

function findLikeliestLanguage(languages: Iterable<string>, getScore: (language: string) => number): string {
  let [best, top] = ['', -Infinity];
  for (const language of languages) {
    const score = getScore(language);
    if (best === '' || score > top) [best, top] = [language, score];
  }
  return best;
}
