import type { HeardWord } from '../../core/speech.ts';
import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';
import { ServiceError } from '../../core/error.ts';
import { abortReason } from '../abort-reason.ts';
import { energyDetector } from '../speech/energy-detector.ts';
import type { Recognition, RecognitionRequest, SpeechEngine } from '../speech-engine.ts';

export interface SpeechScript {
  /** What is heard in these samples: its text, or more of the answer. May take its time, until the signal aborts. */
  readonly hear: (
    request: RecognitionRequest,
    signal: AbortSignal,
  ) => string | Partial<Recognition> | Promise<string | Partial<Recognition>>;
  /** ISO 639-1. Default: en, zh, de. */
  readonly languages?: readonly string[];
  /** Default: half a minute. */
  readonly samplesMax?: number;
}

const LANGUAGES = ['en', 'zh', 'de'];
const SECONDS_MAX = 30;

/** Hears what a script says. Its words last equally long; voice is what is louder than the room. */
export function createScriptedSpeech({
  hear,
  languages = LANGUAGES,
  samplesMax = SECONDS_MAX * SPEECH_SAMPLE_RATE,
}: SpeechScript): SpeechEngine {
  return {
    state: 'ready',
    model: async () => ({ languages, samplesMax }),
    async recognize(request, signal) {
      if (signal.aborted) throw abortReason(signal);
      const strange = request.languages.find((language) => !languages.includes(language));
      if (strange !== undefined)
        throw new ServiceError('invalid-request', `The model does not know the language '${strange}'.`, {
          param: 'languages',
        });
      const heard = await hear(request, signal);
      if (signal.aborted) throw abortReason(signal);
      const told = typeof heard === 'string' ? { text: heard } : heard;
      const text = told.text ?? '';
      return {
        text,
        language: request.languages[0] ?? languages[0] ?? 'en',
        words: request.wantsWords ? evenWords(text, (request.samples.length / SPEECH_SAMPLE_RATE) * 1_000) : [],
        noSpeech: text === '' ? 1 : 0,
        logProbability: 0,
        tokens: text.length,
        isBiasDropped: false,
        ...told,
      };
    },
    detectVoice: (samples, state, signal) => energyDetector.detect(samples, state, signal),
    close: async () => undefined,
  };
}

function evenWords(text: string, ms: number): readonly HeardWord[] {
  const words = Array.from(text.matchAll(/([^\s.,!?]+)([.,!?]*)(\s*)/g));
  return words.map(([, word = '', sign = '', blank = ''], at) => ({
    text: sign === '' ? word + blank : word,
    punctuation: sign === '' ? '' : sign + blank,
    beginMs: Math.round((at * ms) / words.length),
    endMs: Math.round(((at + 1) * ms) / words.length),
  }));
}
