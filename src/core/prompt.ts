import type { Grammar } from './grammar.ts';

/**
 * A piece of a prompt. Only a `special` piece may become a special token of the vocabulary; anything else is text, also
 * when it reads `<|im_start|>`.
 */
export interface PromptSegment {
  readonly text: string;
  readonly special: boolean;
  /** The caller wants the prompt up to here, this piece included, kept for later requests. */
  readonly cacheMark?: true;
}

/**
 * A step of a generation that changes in mid-stream. A run begins in the first; where it goes on stands in each. The
 * answer ends with a phase that leads nowhere.
 */
export interface Phase {
  /**
   * `thought`: no stop sequences, no log probabilities, not limited by `maxTokens`; the model's own end ends the phase only.
   * `answer`: all three apply; the model's own end is the answer's.
   * `call`: limited by `maxTokens`; the model's own end, which its grammar allows when it is complete, ends the phase only.
   */
  readonly kind: 'thought' | 'answer' | 'call';
  /** What the phase's output must look like, from its first character. */
  readonly grammar?: Grammar;
  /** Ends when `text` was generated (it is not part of the output) or after `tokens` tokens, whichever is earlier. */
  readonly until?: { readonly text?: string; readonly tokens?: number };
  /** Looked for in the phase's output as it grows; the first that matches at its end leads on. */
  readonly triggers?: readonly Trigger[];
  /** The phase that follows when this one ended by itself or by `until`. Absent: the answer is over. */
  readonly next?: number;
  /** What is put into the context when the phase ended by itself or by `until` and another follows. */
  readonly thenAppend?: readonly PromptSegment[];
}

/** Text that leads into another phase. It stays in output and context, which both end with it: nothing is lost. */
export interface Trigger {
  /** Source of a regular expression (flag `u`); matched against the last TRIGGER_WINDOW_CHARS of the phase's output. */
  readonly pattern: string;
  readonly phase: number;
}
