import type { Grammar } from './grammar.ts';

/**
 * A piece of a prompt. Only a `special` piece may become a special token of the vocabulary. Any other piece is plain
 * text, even when it reads `<|im_start|>`.
 */
export interface PromptSegment {
  readonly text: string;
  readonly special: boolean;
  /** Ends a prefix of the prompt, this piece included, that the caller wants to have cached. */
  readonly cacheMark?: true;
}

/**
 * A part of a generation whose rules differ from the other parts. Generation starts with the first phase; each phase
 * names its successor. The answer ends with a phase that has none.
 */
export interface GenerationPhase {
  /**
   * `thought`: without stop sequences, log probabilities and `maxTokens`; an end-of-text token ends only the phase.
   * `answer`: all three apply; an end-of-text token ends the answer.
   * `call`: limited by `maxTokens`; an end-of-text token, which its grammar allows once complete, ends only the phase.
   */
  readonly kind: 'thought' | 'answer' | 'call';
  /** Form of the phase's output, from its first character. */
  readonly grammar?: Grammar;
  /**
   * Ends the phase when `text` was generated (excluded from the output) or after `tokens` tokens, whichever is first.
   */
  readonly until?: { readonly text?: string; readonly tokens?: number };
  /** Checked whenever the phase's output grows. The first trigger that matches its end selects the next phase. */
  readonly triggers?: readonly PhaseTrigger[];
  /** Index of the phase that follows an end-of-text token or `until`. Absent: the answer ends. */
  readonly nextPhase?: number;
  /** Appended to the context when `nextPhase` follows. */
  readonly appendOnEnd?: readonly PromptSegment[];
}

/** Switches to another phase when its pattern matches. The matched text stays in the output and in the context. */
export interface PhaseTrigger {
  /** Source of a regular expression (flag `u`), matched against the last TRIGGER_WINDOW_CHARS of the phase's output. */
  readonly pattern: string;
  readonly phase: number;
}
