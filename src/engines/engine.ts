import type { Abilities } from '../core/abilities.ts';
import type { Priority } from '../core/context.ts';
import type { ServiceError } from '../core/error.ts';
import type { EngineEvent } from '../core/event.ts';
import type { Message } from '../core/message.ts';
import type { Phase, PromptSegment } from '../core/prompt.ts';
import type { OutputFormat, Sampling, Stop, ThinkingWish, ToolUse } from '../core/request.ts';

/**
 * What an engine can do; a request for anything else is refused by name, not ignored. That of a server elsewhere may
 * grow until `model()` has resolved for the first time: it is asked then.
 */
export interface EngineCapabilities {
  /** `prompt`: we render the template and parse the output. `chat`: the engine does both. */
  readonly input: 'prompt' | 'chat';
  /** `free`: of tokens that no grammar chose from. */
  readonly logprobs: boolean | 'free';
  readonly grammar: boolean;
  readonly phases: boolean;
  /** Honours `PromptSegment.cacheMark`. */
  readonly cache: boolean;
  /** Answers of one request that it can run side by side. */
  readonly choicesMax: number;
  /** Sampling wishes that it has no word for; callers are told. Absent: it hears all. */
  readonly unheardSampling?: readonly (keyof Sampling)[];
  /** Of a chat engine: whether it can be told to think or not, and for how long. Absent: it cannot be told. */
  readonly thinking?: 'switch' | 'budget';
  /** Fields of callers' bodies, in their spelling, that a chat engine passes on as they are. */
  readonly forwards?: readonly string[];
}

/** What is known of a loaded model. */
export interface LoadedModel {
  /** Tokens of prompt and answer together. */
  readonly contextTokens: number;
  /** Vocabulary size; token ids are below it. */
  readonly vocabularySize: number;
  /** Components of its vectors, where it makes any. */
  readonly vectorDimensions?: number;
  /** The model file's chat template (Jinja), where it has one. */
  readonly chatTemplate?: string;
  /** Texts of the special tokens: no caller's text may become one of them. */
  readonly specialTokens: readonly string[];
  /** Texts that templates may ask for. */
  readonly bosToken: string;
  readonly eosToken: string;
  /** What its files or its server say that it can do; what the catalogue declares goes first. */
  readonly abilities?: Abilities;
  /** Nobody told it, it is only declared or assumed, as are the engine's capabilities: why its server did not tell. */
  readonly declaredOnly?: { readonly why: ServiceError };
}

export type EngineInput =
  | { readonly type: 'segments'; readonly segments: readonly PromptSegment[] }
  | { readonly type: 'tokens'; readonly tokens: readonly number[] }
  | {
      readonly type: 'messages';
      readonly messages: readonly Message[];
      /** Earlier thoughts go to the model; otherwise nobody is told them. */
      readonly preserveThinking?: boolean;
      readonly toolUse?: ToolUse;
      readonly outputFormat?: OutputFormat;
      /** `false`: it is to be told not to think. Absent: nothing is said of it. */
      readonly thinking?: ThinkingWish | false;
      /** Fields that `capabilities.forwards` names. */
      readonly forwarded?: Readonly<Record<string, unknown>>;
    };

/** Whose request it is: queues are fair between them, and no state is shared across workspaces. */
export interface EngineOwner {
  readonly workspace: string;
  readonly key: string;
  /** Where it stands in queues, and what it leaves free for others. Absent: live. */
  readonly priority?: Priority;
}

export interface EngineRequest {
  /** For logs on both sides. */
  readonly id: string;
  readonly owner: EngineOwner;
  readonly input: EngineInput;
  readonly sampling: Sampling;
  readonly stop: Stop;
  /** Independent answers; choice i uses seed + i. All start together or none. */
  readonly choices: number;
  /** Limits all phases but thoughts. Absent: what is left of the context. */
  readonly maxTokens?: number;
  /** Limits all phases together. */
  readonly maxTotalTokens?: number;
  readonly logprobs?: { readonly top: number };
  /** Empty means one free answer. */
  readonly phases: readonly Phase[];
  /** Texts of special tokens that are told as text where they are generated; others are structure and say nothing. */
  readonly markers?: readonly string[];
}

export interface EngineStart {
  /** Absent for upstreams that tell only at the end. */
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  /** The answer limit that is in force, where the engine had to lower the wish. */
  readonly maxTokens?: number;
  /** Ends after the `end` event. A failure is a rejected iteration, never an event. Stopping early cancels the run. */
  readonly batches: AsyncIterable<readonly EngineEvent[]>;
}

/** A text that becomes a vector, and where it stands in the request; refusals name it. */
export interface EmbeddingInput {
  readonly text: string;
  readonly field: string;
}

export interface EmbeddingRequest {
  /** For logs on both sides. */
  readonly id: string;
  readonly owner: EngineOwner;
  readonly inputs: readonly EmbeddingInput[];
}

export interface Embeddings {
  /** One for each input, in its order, of any length but of the same number of components. */
  readonly vectors: readonly (readonly number[])[];
  /** Tokens evaluated, of all inputs. */
  readonly tokens: number;
}

/** Vectors for texts. The same text gives the same vector, whatever else runs. */
export interface EmbeddingEngine {
  /** Components of its vectors; loads the model if that is still to be done. */
  dimensions(): Promise<number>;
  /**
   * All vectors or none. Refuses as `start` does: a text that is too long or has no token (`invalid-request` naming its
   * field), no place (`overloaded`, `rate-limited`).
   */
  embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings>;
}

export interface RankingRequest {
  /** For logs on both sides. */
  readonly id: string;
  readonly owner: EngineOwner;
  readonly query: EmbeddingInput;
  readonly documents: readonly EmbeddingInput[];
}

export interface Rankings {
  /** From 0 to 1, one for each document, in its order: how well it answers the query. */
  readonly scores: readonly number[];
  /** Tokens evaluated: each document with the query. */
  readonly tokens: number;
}

/** Scores for documents. */
export interface RankingEngine {
  /** All scores or none. Refuses as `embed` does; `unsupported` where the model was not trained for it. */
  rank(request: RankingRequest, signal: AbortSignal): Promise<Rankings>;
}

/** A token and what it reads; half a character reads U+FFFD. */
export interface TokenText {
  readonly id: number;
  readonly text: string;
}

export interface TextEngine {
  readonly capabilities: EngineCapabilities;
  /** Absent where it makes no vectors. */
  readonly embeddings?: EmbeddingEngine;
  /** Absent where it cannot score, whatever the model. */
  readonly ranking?: RankingEngine;
  /** `starting`: a call now would wait. `failing`: it would be refused, and why stands in the log. */
  readonly state: 'ready' | 'starting' | 'failing';
  /**
   * Resolves when the engine has taken the request in (all its sequences are held; prefill may still be running).
   *
   * What it must refuse, it refuses here, as a ServiceError: too long (`invalid-request` with both counts), queue full
   * or waited too long or restarting (`overloaded`), a key's own share used up (`rate-limited`), a schema that it
   * cannot enforce (`invalid-request` naming its field).
   */
  start(request: EngineRequest, signal: AbortSignal): Promise<EngineStart>;
  /** What is known of the model; loads it, or asks its server, if that is still to be done. */
  model(): Promise<LoadedModel>;
  /** Rejects when a call now would fail. Absent where `state` tells already. */
  probe?(signal: AbortSignal): Promise<void>;
  /** Number of tokens the input would take. Text without a special segment is no prompt: no token begins it. */
  countTokens(input: EngineInput): Promise<number>;
  /** The same tokens one by one. */
  tokenize(input: EngineInput): Promise<readonly TokenText[]>;
  close(): Promise<void>;
}
