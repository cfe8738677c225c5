import type { Block, FinishReason, TokenLogprob, Usage } from './event.ts';

export type ResultBlock = Block & { readonly text: string; readonly logprobs: readonly TokenLogprob[] };

export interface ChoiceResult {
  readonly blocks: readonly ResultBlock[];
  readonly reason: FinishReason;
  readonly stop?: string;
}

/** The fold of a whole stream of GenerationEvents: the unstreamed answer tells the same story. */
export interface GenerationResult {
  readonly inputTokens: number;
  readonly choices: readonly ChoiceResult[];
  readonly usage: Usage;
}
