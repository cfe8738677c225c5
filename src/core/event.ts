import type { Citation, ServerCall, ServerCallResult, ServerToolUsage } from './server-tools.ts';

/**
 * Why a choice ended. `stop`: end-of-text token or stop sequence. `length`: a token limit or the end of the context.
 */
export type FinishReason = 'stop' | 'length' | 'tool-calls';

export interface AlternativeToken {
  readonly token: string;
  readonly bytes: readonly number[];
  /** The model's log probability before temperature and penalties. Undefined when extremely low. */
  readonly logprob: number | undefined;
}

export interface TokenLogprob extends AlternativeToken {
  /** The most likely tokens at this position, best first. */
  readonly top: readonly AlternativeToken[];
}

/** Tokens that a request used. The prompt counts once; the completion is the sum over all choices. */
export interface Usage {
  readonly promptTokens: number;
  /** Part of promptTokens that was read from a cache and not computed again. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Parts of promptTokens that stand for pictures and sound. Undefined when no server reports them. */
  readonly imageTokens?: number;
  readonly audioTokens?: number;
  /** Part of promptTokens that was written to an explicit cache; undefined when the request marked none. */
  readonly cacheCreationTokens?: number;
  /** Present when the request marked a cache that was written or hit. */
  readonly usesExplicitCache?: true;
  /** Part of completionTokens. Undefined when the model did not think. */
  readonly reasoningTokens?: number;
  /** Present when the request allowed server tools and at least one was used. */
  readonly serverTools?: ServerToolUsage;
}

/** Adds the token counts that every usage has. */
export const addTokenCounts = (
  first: Usage,
  second: Usage,
): Pick<Usage, 'promptTokens' | 'cachedTokens' | 'completionTokens'> => ({
  promptTokens: first.promptTokens + second.promptTokens,
  cachedTokens: first.cachedTokens + second.cachedTokens,
  completionTokens: first.completionTokens + second.completionTokens,
});

/** The next tokens of the prompt, before any text of the choice. Only for a request with `promptLogprobs`. */
export interface PromptEvent {
  readonly type: 'prompt';
  readonly choice: number;
  /** Text that the tokens stand for, special tokens included. */
  readonly text: string;
  /** One entry per token. The first token of a prompt has no log probability. */
  readonly logprobs: readonly TokenLogprob[];
}

/** Whether a thought that was recognized at its end is passed on, or dropped because the request wants no thoughts. */
export type LateThought = 'kept' | 'dropped';

/** End of a choice. */
interface ChoiceEndEvent {
  readonly type: 'choice-end';
  readonly choice: number;
  readonly reason: FinishReason;
  /** The matched stop string. Empty for a stop sequence of token ids; absent for another reason. */
  readonly stop?: string;
  /** Present when the text shows the mark of a call that could not be parsed. */
  readonly hasUnparsedCall?: true;
}

/** Output of an engine. Flat, so that an engine need not know where a block starts. */
export type EngineEvent =
  | PromptEvent
  | {
      readonly type: 'text';
      readonly choice: number;
      readonly text: string;
      /** Tokens of this text; 0 when the engine does not know. */
      readonly tokens: number;
      /** Index of the generation phase that produced the text; 0 without phases. */
      readonly phase: number;
      readonly logprobs?: readonly TokenLogprob[];
    }
  | {
      readonly type: 'reasoning';
      readonly choice: number;
      readonly text: string;
      readonly tokens: number;
      /** Present when the text of the choice before this event was a thought, of which only the end was marked. */
      readonly takesText?: LateThought;
    }
  | {
      readonly type: 'tool-call';
      readonly choice: number;
      readonly index: number;
      readonly id: string;
      readonly name: string;
    }
  | { readonly type: 'tool-arguments'; readonly choice: number; readonly index: number; readonly text: string }
  | ChoiceEndEvent
  /** The last event, sent once, after every choice has ended. */
  | { readonly type: 'end'; readonly usage: Usage };

/** Event of a choice's answer. */
export type ChoiceEvent = Exclude<EngineEvent, { type: 'prompt' | 'end' }>;

export type Block =
  | { readonly type: 'text' }
  | { readonly type: 'reasoning' }
  | { readonly type: 'tool-call'; readonly id: string; readonly name: string };

/**
 * Input of the protocol encoders. `start` is the first event and `end` the last, each once. `prompt` events of a choice
 * precede its blocks. Blocks of a choice do not overlap; their indexes count from 0 without gaps. Every choice ends
 * before `end`.
 */
export type GenerationEvent =
  | { readonly type: 'start'; readonly inputTokens: number; readonly cachedTokens: number }
  | PromptEvent
  | { readonly type: 'block-start'; readonly choice: number; readonly index: number; readonly block: Block }
  | {
      readonly type: 'block-delta';
      readonly choice: number;
      readonly index: number;
      readonly text: string;
      /** Tokens sampled since the previous delta, including hidden markup. Absent when unknown. */
      readonly tokens?: number;
      readonly logprobs?: readonly TokenLogprob[];
      /** Citations of the sentences that this text completes. */
      readonly citations?: readonly Citation[];
    }
  | {
      readonly type: 'block-end';
      readonly choice: number;
      readonly index: number;
      /** Present when the text of this block was a thought. A stream has sent it as text already. */
      readonly thought?: LateThought;
    }
  /** A server tool starts. The call takes the place of a block; no other event of its choice precedes its result. */
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
  | ChoiceEndEvent
  | { readonly type: 'end'; readonly usage: Usage };
