import type { RecognizedWord, Hotword } from '../core/speech.ts';
import type { EngineOwner } from './engine.ts';

/** Properties of a loaded recognition model. */
export interface SpeechModel {
  /** ISO 639-1 codes. */
  readonly languages: readonly string[];
  /** Longest audio of one call, in samples. */
  readonly samplesMax: number;
  /** Whether the model can translate speech to English. */
  readonly translates: boolean;
}

export type SpeechTask = 'transcribe' | 'translate';

export interface RecognitionRequest {
  /** Request id, for the logs of both processes. */
  readonly id: string;
  readonly owner: EngineOwner;
  /** Mono, `SPEECH_SAMPLE_RATE`, −1 to 1; not empty, at most `samplesMax`. */
  readonly samples: Float32Array;
  /** Candidate languages, ISO 639-1. Empty: every language of the model. Exactly one: no detection takes place. */
  readonly languages: readonly string[];
  /** `translate`: the text is an English translation of what was spoken. Default: `transcribe`. */
  readonly task?: SpeechTask;
  /** Earlier transcript, or the topic, as prompt text for the model. Too long a text is cut at its beginning. */
  readonly context?: string;
  readonly hotwords: readonly Hotword[];
  /** Whether to compute the times of words, which takes longer; otherwise `words` is empty. */
  readonly includeWords: boolean;
  /** Whether somebody waits for the text while the speech goes on: the search is greedy, which takes less time. */
  readonly isLive?: boolean;
}

export interface Recognition {
  /** Recognized text without surrounding whitespace; empty if nobody spoke. */
  readonly text: string;
  /** Language of the text, ISO 639-1: the spoken language, or `en` for a translation. */
  readonly language: string;
  /** Recognized words; their times are relative to the first sample. */
  readonly words: readonly RecognizedWord[];
  /** Probability, from 0 to 1, that the audio contains no speech. */
  readonly noSpeech: number;
  /** Mean natural logarithm of the token probabilities as the model gave them, before any hotword bias. */
  readonly logProbability: number;
  /** Number of tokens generated in all attempts. */
  readonly tokens: number;
  /** True if the hotwords were read out as a list, or words repeated; the result then comes from a run without bias. */
  readonly isBiasDropped: boolean;
}

/** State of the voice detector between two blocks of one audio stream. Opaque to everything but the engine. */
export type VoiceState = Float32Array;

export interface VoiceBlock {
  /** Speech probability, from 0 to 1, of each frame of `VOICE_FRAME_SAMPLES` samples. */
  readonly probabilities: readonly number[];
  readonly state: VoiceState;
}

/** Samples of one frame: 32 ms at 16 kHz. */
export const VOICE_FRAME_SAMPLES = 512;

/**
 * Recognizes speech in segments of audio. One call is one run of the model; the caller splits and joins the segments.
 */
export interface SpeechEngine {
  /** `starting`: a call would wait. `failing`: a call would be rejected; the log states the reason. */
  readonly state: 'ready' | 'starting' | 'failing';
  /** Loads the model if necessary, and returns its properties. */
  loadModel(): Promise<SpeechModel>;
  /**
   * Transcribes one segment. An abort stops it between two tokens.
   * @throws ServiceError `overloaded` or `rate-limited` if the queue is full; `invalid-request` for a language that the
   *   model does not support, and for a translation by a model that does not translate.
   */
  recognize(request: RecognitionRequest, signal: AbortSignal): Promise<Recognition>;
  /**
   * Returns the speech probabilities of a block of audio.
   * @param samples Whole frames, at most one minute.
   * @param state State returned for the block before; undefined for the first block.
   */
  detectVoice(samples: Float32Array, state: VoiceState | undefined, signal: AbortSignal): Promise<VoiceBlock>;
  close(): Promise<void>;
}
