import type { EngineOwner } from '../engine.ts';
import type { TokenInput } from './protocol.ts';
import type { TaskQueue } from './task-queue.ts';
import {
  createLengthChecks,
  tokenizeChecked,
  tokenizeMarked,
  type MarkedTokens,
  type Tokenizer,
} from './tokenize-input.ts';

/** Characters of an input that is tokenized at once, which takes at most 15 ms. Chosen by Parley. */
const SHORT_CHARS_MAX = 16_384;

/**
 * Tokenizes an input as `tokenizeMarked` does. Long inputs take turns, fairly between workspaces and keys.
 * @throws as `tokenizeMarked`, and as `TaskQueue.run`.
 */
export type TokenizeInTurn = (
  tokenizer: Tokenizer,
  input: TokenInput,
  caller: { readonly owner: EngineOwner; readonly signal: AbortSignal },
) => Promise<MarkedTokens>;

export interface TokenizeInTurnDeps {
  /** Runs work between two ticks of the scheduler, so that a generating request waits for one part of a text at most. */
  readonly between: <T>(work: () => Promise<T>) => Promise<T>;
  readonly taskQueue: TaskQueue;
}

export function createTokenizeInTurn({ between, taskQueue }: TokenizeInTurnDeps): TokenizeInTurn {
  return async (tokenizer, input, { owner, signal }) => {
    if (input.type === 'tokens' || countChars(input) <= SHORT_CHARS_MAX) return tokenizeMarked(tokenizer, input);
    const checks = createLengthChecks(tokenizer, input.segments);
    let marked: MarkedTokens = { tokens: [], marks: [] };
    const tokenize = (): void => {
      marked = tokenizeChecked(tokenizer, input);
    };
    await taskQueue.run(
      owner,
      [...checks, tokenize].map((step) => () => between(async () => step())),
      signal,
    );
    return marked;
  };
}

const countChars = ({ segments }: TokenInput & { readonly type: 'segments' }): number =>
  segments.reduce((sum, { text }) => sum + text.length, 0);
