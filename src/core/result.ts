import type { Citation, ServerCall, ServerCallResult } from './server-tools.ts';
import type { Block, FinishReason, TokenLogprob, Usage } from './event.ts';

export type ResultBlock = ((Block & { readonly citations?: readonly Citation[] }) | ServerCallBlock) & {
  readonly text: string;
  readonly logprobs: readonly TokenLogprob[];
};

/** A finished call of a server tool. It has no text. */
export interface ServerCallBlock {
  readonly type: 'server-call';
  readonly id: string;
  readonly call: ServerCall;
  readonly result: ServerCallResult;
}

export interface ChoiceResult {
  /** The prompt and its tokens, if requested. */
  readonly prompt?: { readonly text: string; readonly logprobs: readonly TokenLogprob[] };
  readonly blocks: readonly ResultBlock[];
  readonly reason: FinishReason;
  readonly stop?: string;
  /** Present when the text shows the mark of a call that could not be parsed. */
  readonly hasUnparsedCall?: true;
}

/**
 * The complete result of a generation, folded from its GenerationEvents. Responses without streaming are built from it.
 */
export interface GenerationResult {
  readonly inputTokens: number;
  readonly choices: readonly ChoiceResult[];
  readonly usage: Usage;
}
