import type { TokenOverflow } from '../../core/error.ts';
import type { FinishReason } from '../../core/event.ts';
import type { Sampling } from '../../core/request.ts';
import type { EngineInput, EngineRequest, LoadedModel } from '../engine.ts';
import type { EngineEndpoint } from '../engine-process.ts';

/**
 * Messages between the engine process and its clients: HTTP on a Unix domain socket.
 *
 *   GET  /model     -> LoadedModel
 *   GET  /health    -> Health
 *   POST /count     {input, owner} -> {tokens}; without `owner`, the text is Parley's own
 *   POST /tokenize  {input, owner} -> {tokens: [{id, text}]}
 *   POST /embed     EmbeddingRequest -> Embeddings, or 4xx/5xx and a Refusal
 *   POST /rank      RankingRequest -> Rankings, or 4xx/5xx and a Refusal
 *   POST /generate  GenerateCall  -> 200 and one Line per line (NDJSON), or 4xx/5xx and a Refusal
 *
 * Closing the connection cancels a request. Works with `curl --unix-socket SOCKET http://engine/generate -d '{…}'`.
 */
export interface GenerateCall extends Omit<EngineRequest, 'input' | 'sampling'> {
  readonly input: TokenInput;
  /** As in `EngineRequest`, but with the map as a list of pairs, for JSON. */
  readonly sampling: Omit<Sampling, 'logitBias'> & {
    readonly logitBias?: readonly (readonly [token: number, bias: number])[];
  };
}

/** Input of this engine, which renders no chat templates: prompts only. */
export type TokenInput = Exclude<EngineInput, { readonly type: 'messages' }>;

export interface LineAlternative {
  readonly id: number;
  readonly bytes: readonly number[];
  /** null: below the smallest reported value. */
  readonly logprob: number | null;
}

/** Log probability of a token, and the most likely tokens at its position, best first. */
export interface LineLogprob extends LineAlternative {
  readonly top: readonly LineAlternative[];
}

export type OutputLine =
  | {
      readonly type: 'started';
      readonly promptTokens: number;
      readonly cachedTokens: number;
      readonly maxTokens: number;
      /** Present if a limit left a part of a schema out of a grammar. */
      readonly hasWideGrammar?: true;
    }
  /** Only if requested, before the first token: the next tokens of the prompt. */
  | {
      readonly type: 'prompt';
      readonly choice: number;
      readonly text: string;
      /** One entry per token. The first token of the prompt has no log probability: null. */
      readonly logprobs: readonly LineLogprob[];
    }
  | {
      readonly type: 'token';
      readonly choice: number;
      /** Index of the phase that the text belongs to. */
      readonly phase: number;
      /** Id of the token that was sampled last. */
      readonly id: number;
      /** Number of tokens sampled since the previous line: one text may stand for several tokens. */
      readonly tokens: number;
      /** Text to output now. Incomplete characters and possible beginnings of a stop string are held back. */
      readonly text: string;
      /** Only if requested: log probabilities of the tokens whose text is complete now, in order. */
      readonly logprobs?: readonly LineLogprob[];
    }
  | { readonly type: 'choice-finished'; readonly choice: number; readonly reason: FinishReason; readonly stop?: string }
  | { readonly type: 'finished'; readonly counts: TokenCounts }
  | {
      readonly type: 'failed';
      readonly kind: FailureKind;
      readonly message: string;
      /** The request field at fault, in the spelling of the API. */
      readonly param?: string;
    };

export interface TokenCounts {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** Number of sampled tokens of all choices and phases, without end-of-generation tokens. */
  readonly completionTokens: number;
  /** Number of these tokens that belong to thought phases. */
  readonly thoughtTokens: number;
  /** Number of tokens that this request added to the explicit cache; absent if the prompt has no cache marks. */
  readonly cacheCreationTokens?: number;
  /** Present if the prompt has cache marks, and a cached prefix was written or found. */
  readonly usesExplicitCache?: true;
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

/** Body of a response with a status other than 200. */
export interface EngineRefusal {
  readonly kind: FailureKind;
  readonly message: string;
  /** The request field at fault, in the spelling of the API. */
  readonly param?: string;
  readonly retryAfterSeconds?: number;
  /** Present for `too-long`. */
  readonly excess?: TokenOverflow;
}

export interface SchedulerHealth {
  readonly busySequences: number;
  readonly sequences: number;
  readonly queued: number;
  readonly ticks: number;
  readonly tokens: number;
}

/** Options of the engine process, passed as one JSON argument. */
export interface LlamaProcessArguments {
  readonly socket: string;
  /** Required on every call when the socket is a loopback TCP address. */
  readonly token?: string;
  readonly modelFile: string;
  /** LoRA adapter that changes all answers, and the factor of its effect. */
  readonly adapter?: { readonly file: string; readonly scale: number };
  /** Context length of one sequence. Absent: as memory allows, which may also lower the number of sequences. */
  readonly contextTokens?: number | undefined;
  /** Number of sequences, and most choices of one request. */
  readonly sequences: number;
  /** Most tokens of an evaluation that are predicted from repetitions. Absent: none. */
  readonly draftTokens?: number | undefined;
  readonly threads: number;
  readonly gpu: 'auto' | false;
  readonly queueLengthMax: number;
  /** Share of the sequences that a workspace keeps while others wait, from 0 to 1. */
  readonly workspaceShare: number;
  readonly queueWaitMsMax: number;
  /** Folder for saved sequence states, with mode 0700. */
  readonly stateFolder: string;
}

/** The one line on standard output that reports that the process accepts requests. */
export interface ReadyMessage {
  readonly ready: true;
  readonly model: LoadedModel;
}

export type LlamaEndpoint = EngineEndpoint<LoadedModel>;
