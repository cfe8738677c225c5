import type { Abilities } from '../core/abilities.ts';
import type { Priority } from '../core/context.ts';
import type { ServiceError } from '../core/error.ts';
import type { EngineEvent } from '../core/event.ts';
import type { DeclaredFillTokens } from '../core/fill-in-the-middle.ts';
import type { Message } from '../core/message.ts';
import type { GenerationPhase, PromptSegment } from '../core/prompt.ts';
import type { OutputFormat, Sampling, StopConditions, ThinkingOptions, ToolUseOptions } from '../core/request.ts';

/**
 * Features of an engine. A request that needs another feature is rejected with a message that names it, never served
 * without it. The features of an upstream server may grow until `loadModel()` has resolved once, because it queries the
 * server.
 */
export interface EngineCapabilities {
  /** `prompt`: Parley renders the chat template and parses the output. `chat`: the engine does both. */
  readonly input: 'prompt' | 'chat';
  /**
   * `free`: only for tokens that were sampled without a grammar. `greedy`: only for those of them that were sampled with
   * temperature 0, without penalties and without `logitBias`.
   */
  readonly logprobs: boolean | 'free' | 'greedy';
  /** Whether the engine returns log probabilities of the prompt's tokens. */
  readonly promptLogprobs: boolean;
  readonly grammar: boolean;
  readonly phases: boolean;
  /** Whether the engine honors `PromptSegment.cacheMark`. */
  readonly cache: boolean;
  /** Number of choices of one request that can run at the same time. */
  readonly choicesMax: number;
  /** Sampling options that the engine cannot apply; the response reports them as ignored. Absent: all are supported. */
  readonly ignoredSampling?: readonly (keyof Sampling)[];
  /** For chat engines: whether a request can switch thinking on and off, or limit its tokens. Absent: neither. */
  readonly thinking?: 'switch' | 'budget';
  /** Request fields, in the spelling of the API, that a chat engine forwards unchanged. */
  readonly forwardableFields?: readonly string[];
}

/** Properties of a loaded model. */
export interface LoadedModel {
  /** Context size: tokens of prompt and answer together. */
  readonly contextTokens: number;
  /** Vocabulary size; every token id is below it. */
  readonly vocabularySize: number;
  /** Number of components of an embedding vector; absent for a model without embeddings. */
  readonly vectorDimensions?: number;
  /** Chat template of the model file (Jinja), if it has one. */
  readonly chatTemplate?: string;
  /** Template for requests with tools, if the model has one of its own for them. */
  readonly toolTemplate?: string;
  /** Texts of the special tokens. Text from a caller must never become one of these tokens. */
  readonly specialTokens: readonly string[];
  /** Tokens that the model's file declares for fill-in-the-middle prompts. */
  readonly fillTokens?: DeclaredFillTokens;
  /** Texts of the first and last token, for chat templates that use them. */
  readonly bosToken: string;
  readonly eosToken: string;
  /** Abilities according to the model's files or its server. Declarations in the catalogue take precedence. */
  readonly abilities?: Abilities;
  /**
   * Present if the values above, and the engine's capabilities, are only declared or assumed; `reason` is the error of
   * the server.
   */
  readonly unverified?: { readonly reason: ServiceError };
}

export type EngineInput =
  | { readonly type: 'segments'; readonly segments: readonly PromptSegment[] }
  | { readonly type: 'tokens'; readonly tokens: readonly number[] }
  | {
      readonly type: 'messages';
      readonly messages: readonly Message[];
      /** Whether earlier thoughts are sent to the model. */
      readonly preserveThinking?: boolean;
      readonly toolUse?: ToolUseOptions;
      readonly outputFormat?: OutputFormat;
      /** `false`: thinking is switched off. Absent: the engine's default applies. */
      readonly thinking?: ThinkingOptions | false;
      /** Fields from `capabilities.forwardableFields`, with their values. */
      readonly forwarded?: Readonly<Record<string, unknown>>;
    };

/** The tenant of a request. Queues are fair between owners, and workspaces share no state. */
export interface EngineOwner {
  readonly workspace: string;
  readonly key: string;
  /** Priority in queues, which also decides how much capacity stays free for others. Absent: live. */
  readonly priority?: Priority;
}

export interface EngineRequest {
  /** Request id, for the logs of both processes. */
  readonly id: string;
  readonly owner: EngineOwner;
  readonly input: EngineInput;
  readonly sampling: Sampling;
  readonly stop: StopConditions;
  /** Number of independent answers. Choice i uses seed + i. The run starts with the first; others may follow later. */
  readonly choices: number;
  /** Token limit of all phases except thoughts. Absent: the rest of the context. 0: only the prompt is evaluated. */
  readonly maxTokens?: number;
  /** Token limit of all phases together. */
  readonly maxTotalTokens?: number;
  readonly logprobs?: { readonly top: number };
  /**
   * Requests `prompt` events. The log probabilities of such a request then include its end token, as an event without
   * text, so that each sampled token has an entry.
   */
  readonly promptLogprobs?: { readonly top: number };
  /** Phases of the answer; empty means a single answer phase without constraints. */
  readonly phases: readonly GenerationPhase[];
  /** Special tokens whose text is output when the model generates them. Other special tokens produce no text. */
  readonly markers?: readonly string[];
}

export interface EngineRun {
  /** Absent for upstream servers that report it only at the end. */
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  /** The answer limit in force, if the engine had to lower the requested one. */
  readonly maxTokens?: number;
  /** Present if a limit left a part of a schema out of a grammar, so that the answer must be checked. */
  readonly hasWideGrammar?: true;
  /**
   * Ends after the `end` event. Failures reject the iteration; they are never events. Stopping early cancels the run.
   */
  readonly batches: AsyncIterable<readonly EngineEvent[]>;
}

/** A text to embed or rank, and its request field, which error messages name. */
export interface EmbeddingInput {
  readonly text: string;
  readonly field: string;
}

export interface EmbeddingRequest {
  /** Request id, for the logs of both processes. */
  readonly id: string;
  readonly owner: EngineOwner;
  readonly inputs: readonly EmbeddingInput[];
}

export interface Embeddings {
  /** One vector per input, in the same order. All have the same number of components; they need not be normalized. */
  readonly vectors: readonly (readonly number[])[];
  /** Number of tokens evaluated for all inputs. */
  readonly tokens: number;
}

/** Computes embedding vectors. The same text always gives the same vector, whatever else the engine runs. */
export interface EmbeddingEngine {
  /** Returns the number of components of a vector; loads the model first if necessary. */
  getDimensions(): Promise<number>;
  /**
   * Returns the vectors of all inputs.
   * @throws ServiceError `invalid-request` naming the field of a text that is too long or has no token; `overloaded` or
   *   `rate-limited` if the queue is full. No partial results are returned.
   */
  embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings>;
}

export interface RankingRequest {
  /** Request id, for the logs of both processes. */
  readonly id: string;
  readonly owner: EngineOwner;
  readonly query: EmbeddingInput;
  readonly documents: readonly EmbeddingInput[];
}

export interface Rankings {
  /** One relevance score per document, in the same order, from 0 to 1. */
  readonly scores: readonly number[];
  /** Number of tokens evaluated: the query and the document, for each document. */
  readonly tokens: number;
}

/** Scores documents by their relevance to a query. */
export interface RankingEngine {
  /** Returns all scores. @throws ServiceError as `embed` does; `unsupported` if the model is not a reranking model. */
  rank(request: RankingRequest, signal: AbortSignal): Promise<Rankings>;
}

/** A token and its text; an incomplete character reads U+FFFD. */
export interface TokenText {
  readonly id: number;
  readonly text: string;
}

export interface TextEngine {
  readonly capabilities: EngineCapabilities;
  /** Absent if the engine computes no embeddings. */
  readonly embeddings?: EmbeddingEngine;
  /** Absent if the engine cannot rank with any model. */
  readonly ranking?: RankingEngine;
  /** `starting`: a call would wait. `failing`: a call would be rejected; the log states the reason. */
  readonly state: 'ready' | 'starting' | 'failing';
  /**
   * Resolves when the engine has accepted the request: all its sequences are allocated, prefill may still be running.
   *
   * @throws ServiceError `invalid-request` for an input that is too long (with both token counts) or a schema that
   *   cannot be enforced (naming its field); `overloaded` if the queue is full, the wait is too long or the engine
   *   restarts; `rate-limited` if the key has used its share of the queue.
   */
  start(request: EngineRequest, signal: AbortSignal): Promise<EngineRun>;
  /** Returns the properties of the model; loads it, or queries its server, if necessary. */
  loadModel(): Promise<LoadedModel>;
  /** Rejects if a call would fail now. Absent if `state` already shows this. */
  probe?(signal: AbortSignal): Promise<void>;
  /**
   * Counts the tokens of an input. Text without a special segment is not a prompt, so no start token is counted. Where
   * long texts take turns, they do so between owners.
   */
  countTokens(input: EngineInput, owner?: EngineOwner): Promise<number>;
  /** Returns the tokens that `countTokens` counts. */
  tokenize(input: EngineInput, owner?: EngineOwner): Promise<readonly TokenText[]>;
  close(): Promise<void>;
}
