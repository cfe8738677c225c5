import type { ErrorKind } from '../../core/error.ts';
import type { EngineUp } from '../engine-process.ts';
import type { RecognitionRequest, SpeechModel } from '../speech-engine.ts';

/**
 * What the process and its clients say to each other: HTTP on a Unix domain socket.
 *
 *   GET  /health                                    -> {}
 *   POST /recognize  RecognizeCall, then samples    -> Recognition
 *   POST /voice      VoiceCall, state, then samples -> VoiceAnswer
 *   POST /embed      EmbeddingRequest (plain JSON)  -> Embeddings
 *
 * or 4xx/5xx and a Refusal. What comes with samples is bytes (call-bytes.ts). Closing the connection cancels. A process
 * answers for what it has loaded: speech, or vectors; the rest is 404.
 */
export type RecognizeCall = Omit<RecognitionRequest, 'samples'>;

export interface VoiceCall {
  /** Floats of a detector's state before the samples; 0 at the beginning of an audio. */
  readonly stateLength: number;
}

export interface VoiceAnswer {
  readonly probabilities: readonly number[];
  readonly state: readonly number[];
}

/** Body of an answer other than 200. */
export interface Refusal {
  readonly kind: ErrorKind;
  readonly message: string;
  readonly param?: string;
  readonly retryAfterSeconds?: number;
  /** For the log only. */
  readonly detail?: string;
}

/** Passed to the process as one JSON argument. */
export interface ProcessOptions {
  readonly socket: string;
  /** Required on every call when the socket is a loopback TCP address. */
  readonly token?: string;
  /** Of onnxruntime-node, `<…>/node_modules/onnxruntime-node`. */
  readonly runtimeFolder: string;
  readonly loads: Loads;
  /** Of one run; one runs at a time. */
  readonly threads: number;
  readonly queuePlacesMax: number;
  readonly queueWaitMsMax: number;
}

/** What a process does. */
export type Loads =
  | {
      readonly type: 'speech';
      /** Of encoder.onnx, decoder.onnx, tokenizer.json, config.json. */
      readonly weightsFolder: string;
      /** Silero's graph. Absent: voice is what is louder than the room. */
      readonly voiceFile?: string;
    }
  | {
      readonly type: 'vectors';
      /** Of model.onnx and tokenizer.json. */
      readonly weightsFolder: string;
    };

/** What is known of vectors once their model is loaded. */
export interface VectorModel {
  readonly dimensions: number;
}

/** The one line on standard output that says that calls are welcome. */
export interface Ready<Model> {
  readonly ready: true;
  readonly model: Model;
}

export type SpeechUp = EngineUp<SpeechModel>;
export type VectorUp = EngineUp<VectorModel>;
