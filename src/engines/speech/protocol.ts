import type { ErrorKind } from '../../core/error.ts';
import type { EngineEndpoint } from '../engine-process.ts';
import type { RecognitionRequest, SpeechModel } from '../speech-engine.ts';

/**
 * Protocol between the process and its clients: HTTP on a Unix domain socket.
 *
 *   GET  /health                                          -> {} POST /recognize  RecognizeCallHeader, samples  
 * -> Recognition POST /voice      VoiceCallHeader, state, samples      -> VoiceResponse POST /embed  
 * EmbeddingRequest (plain JSON)        -> Embeddings
 *
 * Errors are 4xx or 5xx with a CallErrorBody. Calls with samples are binary (binary-call.ts). Closing the connection
 * cancels a call. A process offers either speech or embeddings; the paths of the other return 404.
 */
export type RecognizeCallHeader = Omit<RecognitionRequest, 'samples'>;

export interface VoiceCallHeader {
  /** Number of floats before the samples that are the detector's state; 0 at the start of an audio. */
  readonly stateLength: number;
}

export interface VoiceResponse {
  readonly probabilities: readonly number[];
  readonly state: readonly number[];
}

/** Body of a response other than 200. */
export interface CallErrorBody {
  readonly kind: ErrorKind;
  readonly message: string;
  readonly param?: string;
  readonly retryAfterSeconds?: number;
  /** For the log only. */
  readonly detail?: string;
}

/** Arguments of the process, passed as one JSON string. */
export interface OnnxProcessArguments {
  readonly socket: string;
  /** Required on every call when the socket is a loopback TCP address. */
  readonly token?: string;
  /** Folder of onnxruntime-node: `<…>/node_modules/onnxruntime-node`. */
  readonly runtimeFolder: string;
  readonly modelFiles: ModelFiles;
  /** Threads of one model run; only one runs at a time. */
  readonly threads: number;
  readonly queueLengthMax: number;
  readonly queueWaitMsMax: number;
}

/** The model that a process loads. */
export type ModelFiles =
  | {
      readonly type: 'speech';
      /** Folder with encoder.onnx, decoder.onnx, tokenizer.json and config.json. */
      readonly weightsFolder: string;
      /** Model file of the Silero voice detector. Absent: the level decides (energy-detector.ts). */
      readonly voiceFile?: string;
      /** Texts that the search continues side by side; 1: greedy. */
      readonly beamWidth: number;
    }
  | {
      readonly type: 'embedding';
      /** Folder with model.onnx and tokenizer.json. */
      readonly weightsFolder: string;
    };

/** Properties of a loaded embedding model. */
export interface EmbeddingModelInfo {
  readonly dimensions: number;
}

/** The one line on standard output that announces that the process accepts calls. */
export interface OnnxReadyMessage<Model> {
  readonly ready: true;
  readonly model: Model;
}

export type SpeechEndpoint = EngineEndpoint<SpeechModel>;
export type EmbeddingEndpoint = EngineEndpoint<EmbeddingModelInfo>;
