import type { TextBuffer } from '../stages/text-buffer.ts';

export type CallText = Pick<TextBuffer, 'slice'>;

/** Parses a call from after its name to its end, and returns its arguments as JSON text. */
export interface CallBody {
  /** Takes the character at a position. `done`: the call ends with it. `done-before`: it ended before it. */
  take(code: number, at: number): 'more' | 'done' | 'done-before';
  /** Number of characters that were taken last and may not belong to the call; after `done-before`, they do not. */
  readonly extraCharacters: number;
  /** Whether the arguments are complete; more of the call's markup may follow. */
  readonly hasAllArguments: boolean;
  /**
   * Takes the part of the arguments that is certain before `position`, and was not taken before.
   * @returns undefined when text before `position` is still needed.
   */
  takeCertain(text: CallText, position: number): string | undefined;
  /** Takes the rest of the arguments of a call that is complete, or that the model did not end: `{}` for none. */
  takeRemaining(text: CallText, position: number): string;
  /** Takes the rest of the arguments of a call that a token limit cut. */
  takeCut(text: CallText, position: number): string;
}
