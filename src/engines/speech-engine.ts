import type { HeardWord, Hotword } from '../core/speech.ts';
import type { EngineOwner } from './engine.ts';

/** What is known of a loaded recognition model. */
export interface SpeechModel {
  /** ISO 639-1. */
  readonly languages: readonly string[];
  /** The longest stretch that one call takes, in samples. */
  readonly samplesMax: number;
}

export interface RecognitionRequest {
  /** For logs on both sides. */
  readonly id: string;
  readonly owner: EngineOwner;
  /** Mono, `SPEECH_SAMPLE_RATE`, −1 to 1; not empty, at most `samplesMax`. */
  readonly samples: Float32Array;
  /** ISO 639-1, the languages it may be; empty: any that the model knows. One: it is taken for said. */
  readonly languages: readonly string[];
  /** What was said before, or what is spoken of: text that the model takes for its own last words. Cut at its beginning. */
  readonly context?: string;
  readonly hotwords: readonly Hotword[];
  /** Times of words cost time; without them `words` is empty. */
  readonly wantsWords: boolean;
}

export interface Recognition {
  /** Empty where nothing was said; without blanks at its ends. */
  readonly text: string;
  /** ISO 639-1. */
  readonly language: string;
  /** Times from the first sample. */
  readonly words: readonly HeardWord[];
  /** From 0 to 1: how likely nobody spoke. */
  readonly noSpeech: number;
  /** Mean natural logarithm of the probabilities of its tokens, as the model itself gave them; no bias is in it. */
  readonly logProbability: number;
  /** Tokens generated, of all tries. */
  readonly tokens: number;
  /** The list was heard as a list, or words repeated themselves: what is told is the plain reading. */
  readonly isBiasDropped: boolean;
}

/** The state of a voice detector between two blocks of one audio; nobody but its engine looks inside. */
export type VoiceState = Float32Array;

export interface VoiceBlock {
  /** One for each `VOICE_FRAME_SAMPLES` of audio: from 0 to 1. */
  readonly probabilities: readonly number[];
  readonly state: VoiceState;
}

/** Samples of one frame: 32 ms. */
export const VOICE_FRAME_SAMPLES = 512;

/** Hears speech in stretches of audio. One call is one run of the model; which stretches belong together its caller knows. */
export interface SpeechEngine {
  /** `starting`: a call now would wait. `failing`: it would be refused, and why stands in the log. */
  readonly state: 'ready' | 'starting' | 'failing';
  /** Loads it, if that is still to be done. */
  model(): Promise<SpeechModel>;
  /**
   * Rejects as a ServiceError: no place (`overloaded`, `rate-limited`), a language that the model does not know
   * (`invalid-request`). An abort ends it between two tokens.
   */
  recognize(request: RecognitionRequest, signal: AbortSignal): Promise<Recognition>;
  /** @param samples Whole frames, at most a minute. @param state Of the block before; undefined at the beginning. */
  detectVoice(samples: Float32Array, state: VoiceState | undefined, signal: AbortSignal): Promise<VoiceBlock>;
  close(): Promise<void>;
}
