import type { Excess } from '../../core/error.ts';
import type { FinishReason } from '../../core/event.ts';
import type { Sampling } from '../../core/request.ts';
import type { EngineInput, EngineRequest, LoadedModel } from '../engine.ts';
import type { EngineUp } from '../engine-process.ts';

/**
 * What the engine process and its clients say to each other: HTTP on a Unix domain socket.
 *
 *   GET  /model     -> LoadedModel
 *   GET  /health    -> Health
 *   POST /count     {input}       -> {tokens}
 *   POST /tokenize  {input}       -> {tokens: [{id, text}]}
 *   POST /embed     EmbeddingRequest -> Embeddings, or 4xx/5xx and a Refusal
 *   POST /rank      RankingRequest -> Rankings, or 4xx/5xx and a Refusal
 *   POST /generate  GenerateCall  -> 200 and one Line per line (NDJSON), or 4xx/5xx and a Refusal
 *
 * Closing the connection cancels. `curl --unix-socket SOCKET http://engine/generate -d '{…}'` can drive it.
 */
export interface GenerateCall extends Omit<EngineRequest, 'input' | 'sampling'> {
  readonly input: TokenInput;
  /** As in the request; a map is a list of pairs in JSON. */
  readonly sampling: Omit<Sampling, 'logitBias'> & {
    readonly logitBias?: readonly (readonly [token: number, bias: number])[];
  };
}

/** This engine renders nothing: it takes prompts. */
export type TokenInput = Exclude<EngineInput, { readonly type: 'messages' }>;

export interface WireAlternative {
  readonly id: number;
  readonly bytes: readonly number[];
  /** null: extremely low. */
  readonly logprob: number | null;
}

/** A token, and the most likely ones at its place, best first. */
export interface WireLogprob extends WireAlternative {
  readonly top: readonly WireAlternative[];
}

export type Line =
  | {
      readonly type: 'started';
      readonly promptTokens: number;
      readonly cachedTokens: number;
      readonly maxTokens: number;
    }
  | {
      readonly type: 'token';
      readonly choice: number;
      /** Position of the phase it belongs to. */
      readonly phase: number;
      /** The token sampled last. */
      readonly id: number;
      /** Sampled tokens since the line before: the text may stand for several. */
      readonly tokens: number;
      /** What may be said now: halves of characters and possible beginnings of a stop string are held back. */
      readonly text: string;
      /** With logprobs only: the tokens whose text is now out, in order. */
      readonly logprobs?: readonly WireLogprob[];
    }
  | { readonly type: 'choice-finished'; readonly choice: number; readonly reason: FinishReason; readonly stop?: string }
  | { readonly type: 'finished'; readonly counts: Counts; readonly timings: Timings }
  | {
      readonly type: 'failed';
      readonly kind: FailureKind;
      readonly message: string;
      /** The field of the call at fault, in the callers' spelling. */
      readonly param?: string;
    };

export interface Counts {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** Sampled tokens of all choices and phases, without end-of-generation tokens. */
  readonly completionTokens: number;
  /** Of these, tokens of thoughts. */
  readonly thoughtTokens: number;
  /** Tokens that this request added to the explicit cache; absent when it marked nothing. */
  readonly cacheCreationTokens?: number;
  /** It marked something, and a kept beginning of its prompt was written or found. */
  readonly usesExplicitCache?: true;
}

/** Milliseconds. */
export interface Timings {
  readonly queueMs: number;
  readonly prefillMs: number;
  readonly decodeMs: number;
}

export type FailureKind =
  | 'too-long'
  | 'invalid'
  | 'queue-full'
  | 'queue-wait'
  | 'key-share'
  | 'slow-reader'
  | 'unsupported'
  | 'draining'
  | 'internal';

/** Body of an answer other than 200. */
export interface Refusal {
  readonly kind: FailureKind;
  readonly message: string;
  /** The field of the call at fault, in the callers' spelling. */
  readonly param?: string;
  readonly retryAfterSeconds?: number;
  /** Of `too-long`. */
  readonly excess?: Excess;
}

export interface Health {
  readonly busySequences: number;
  readonly sequences: number;
  readonly queued: number;
  readonly ticks: number;
  readonly tokens: number;
}

/** Passed to the process as one JSON argument. */
export interface ProcessOptions {
  readonly socket: string;
  /** Required on every call when the socket is a loopback TCP address. */
  readonly token?: string;
  readonly modelFile: string;
  readonly contextTokens: number;
  readonly sequences: number;
  readonly threads: number;
  readonly gpu: 'auto' | false;
  readonly queuePlacesMax: number;
  readonly queueWaitMsMax: number;
  /** A folder for saved sequence states; 0700. */
  readonly stateFolder: string;
}

/** The one line on standard output that says that calls are welcome. */
export interface Ready {
  readonly ready: true;
  readonly model: LoadedModel;
}

export type LlamaUp = EngineUp<LoadedModel>;
