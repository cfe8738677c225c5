import type { Citation, ServerCall, ServerCallResult, ServerToolUse } from './server-tools.ts';

/** Why a choice ended. `stop`: the model's own end or a stop sequence. `length`: a token limit or the context's end. */
export type FinishReason = 'stop' | 'length' | 'tool-calls';

export interface AlternativeToken {
  readonly token: string;
  readonly bytes: readonly number[];
  /** The model's own log probability before temperature and penalties; undefined when extremely low. */
  readonly logprob: number | undefined;
}

export interface TokenLogprob extends AlternativeToken {
  /** The most likely tokens at this place, best first. */
  readonly top: readonly AlternativeToken[];
}

/** What really happened, in tokens. Prompt counted once, completion summed over the choices. */
export interface Usage {
  readonly promptTokens: number;
  /** Part of promptTokens that was not computed again. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Part of promptTokens that was written to an explicit cache; undefined when the request marked none. */
  readonly cacheCreationTokens?: number;
  /** The request marked a cache, and one was written or hit. */
  readonly usesExplicitCache?: true;
  /** Part of completionTokens; undefined when nothing was thought. */
  readonly reasoningTokens?: number;
  /** Present where the request wished for server tools and any of them was used. */
  readonly serverTools?: ServerToolUse;
}

/** What an engine says. Flat: no engine has to know where a block begins. */
export type EngineEvent =
  | {
      readonly type: 'text';
      readonly choice: number;
      readonly text: string;
      /** Tokens this piece of text stands for (0 where the engine cannot tell). */
      readonly tokens: number;
      /** Position of the request's phase that it belongs to; 0 without phases. */
      readonly phase: number;
      readonly logprobs?: readonly TokenLogprob[];
    }
  | { readonly type: 'reasoning'; readonly choice: number; readonly text: string; readonly tokens: number }
  | {
      readonly type: 'tool-call';
      readonly choice: number;
      readonly index: number;
      readonly id: string;
      readonly name: string;
    }
  | { readonly type: 'tool-arguments'; readonly choice: number; readonly index: number; readonly text: string }
  | {
      readonly type: 'choice-end';
      readonly choice: number;
      readonly reason: FinishReason;
      /** The stop string that was hit, where it was one; empty for a stop sequence of token ids. */
      readonly stop?: string;
    }
  /** Last and once, after every choice has ended. */
  | { readonly type: 'end'; readonly usage: Usage };

export type Block =
  | { readonly type: 'text' }
  | { readonly type: 'reasoning' }
  | { readonly type: 'tool-call'; readonly id: string; readonly name: string };

/**
 * What encoders see. `start` comes first and once, `end` last and once; blocks of a choice do not overlap; block indexes
 * of a choice count from 0 without gaps; every choice ends before `end`.
 */
export type GenerationEvent =
  | { readonly type: 'start'; readonly inputTokens: number; readonly cachedTokens: number }
  | { readonly type: 'block-start'; readonly choice: number; readonly index: number; readonly block: Block }
  | {
      readonly type: 'block-delta';
      readonly choice: number;
      readonly index: number;
      readonly text: string;
      /** Sampled tokens since the delta before, markup that is not told included; absent where nothing is known. */
      readonly tokens?: number;
      readonly logprobs?: readonly TokenLogprob[];
      /** Of sentences that this piece completes. */
      readonly citations?: readonly Citation[];
    }
  | { readonly type: 'block-end'; readonly choice: number; readonly index: number }
  /** Work on our side begins; it takes the place of a block, and nothing else of its choice comes before its result. */
  | {
      readonly type: 'server-call';
      readonly choice: number;
      readonly index: number;
      readonly id: string;
      readonly call: ServerCall;
    }
  | {
      readonly type: 'server-result';
      readonly choice: number;
      readonly index: number;
      readonly id: string;
      readonly result: ServerCallResult;
    }
  | { readonly type: 'choice-end'; readonly choice: number; readonly reason: FinishReason; readonly stop?: string }
  | { readonly type: 'end'; readonly usage: Usage };
