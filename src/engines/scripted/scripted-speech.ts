import { ServiceError } from '../../core/error.ts';
import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';
import type { HeardWord, Hotword } from '../../core/speech.ts';
import { VOICE_FRAME_SAMPLES } from '../speech-engine.ts';
import type { RecognitionRequest, SpeechEngine } from '../speech-engine.ts';

/** Softer samples are silence. */
const SILENCE = 0.05;

/** Words from this level on end a sentence. */
const SENTENCE_END_LEVEL = 50;

/** Words from this level up to that one have a capital. */
const CAPITAL_LEVEL = 40;

/** The level that is taken for the heaviest hotword, where there is one. */
const HOTWORD_LEVEL = 30;

const LANGUAGES = ['en', 'zh', 'de'];

/** Longer than real utterances, as whisper's. */
const SECONDS_MAX = 30;

/**
 * Hears levels: while each sample is 0.22, the word is `w22`. From 0.4 on it has a capital, from 0.5 on it ends its sentence.
 * 0.3 is the heaviest hotword, where there are any. @param delayMs What a call takes.
 */
export function scriptedSpeech({ delayMs = 0 }: { readonly delayMs?: number } = {}): SpeechEngine {
  return {
    state: 'ready',
    model: async () => ({ languages: LANGUAGES, samplesMax: SECONDS_MAX * SPEECH_SAMPLE_RATE }),
    async recognize(request, signal) {
      const unknown = request.languages.find((each) => !LANGUAGES.includes(each));
      if (unknown) throw new ServiceError('invalid-request', `The model does not know the language ${unknown}.`);
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
      signal.throwIfAborted();
      const words = wordsIn(request);
      return {
        text: words
          .map(({ text, punctuation }) => text + punctuation)
          .join('')
          .trim(),
        language: request.languages[0] ?? 'en',
        words: request.wantsWords ? words : [],
        noSpeech: words.length > 0 ? 0 : 1,
        logProbability: words.length > 0 ? -0.1 : -2,
        tokens: words.length,
        isBiasDropped: false,
      };
    },
    async detectVoice(samples) {
      const probabilities: number[] = [];
      for (let at = 0; at < samples.length; at += VOICE_FRAME_SAMPLES) {
        const loud = samples.subarray(at, at + VOICE_FRAME_SAMPLES).filter((each) => Math.abs(each) > SILENCE).length;
        probabilities.push(loud / VOICE_FRAME_SAMPLES);
      }
      return { probabilities, state: new Float32Array(0) };
    },
    close: async () => undefined,
  };
}

function wordsIn({ samples, hotwords }: RecognitionRequest): readonly HeardWord[] {
  const words: HeardWord[] = [];
  let begin = 0;
  for (let at = 1; at <= samples.length; at += 1) {
    const level = levelOf(samples[begin]);
    if (at < samples.length && levelOf(samples[at]) === level) continue;
    if (level > SILENCE * 100) words.push({ ...spelled(level, hotwords), beginMs: msOf(begin), endMs: msOf(at) });
    begin = at;
  }
  return words;
}

function spelled(level: number, hotwords: readonly Hotword[]): Pick<HeardWord, 'text' | 'punctuation'> {
  const heaviest = hotwords.toSorted((a, b) => b.weight - a.weight)[0];
  const isCapital = level >= CAPITAL_LEVEL && level < SENTENCE_END_LEVEL;
  const text = level === HOTWORD_LEVEL && heaviest ? heaviest.text : `${isCapital ? 'W' : 'w'}${level}`;
  return level >= SENTENCE_END_LEVEL ? { text, punctuation: '. ' } : { text: `${text} `, punctuation: '' };
}

const levelOf = (sample = 0): number => Math.round(Math.abs(sample) * 100);

const msOf = (samples: number): number => Math.round((samples * 1_000) / SPEECH_SAMPLE_RATE);
