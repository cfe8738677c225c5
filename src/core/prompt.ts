/**
 * A piece of a prompt. Only a `special` piece may become a special token of the vocabulary; anything else is text, also
 * when it reads `<|im_start|>`.
 */
export interface PromptSegment {
  readonly text: string;
  readonly special: boolean;
}

/** A step of a generation that changes in mid-stream; the last one has no `until` and gives the answer's end. */
export interface Phase {
  /** Ends when `text` was generated (it is not part of the output) or after `tokens` tokens, whichever is earlier. */
  readonly until?: { readonly text?: string; readonly tokens?: number };
  /** What is put into the context when the phase ends, before the next begins. */
  readonly thenAppend?: readonly PromptSegment[];
  /** GBNF that the phase's output must follow. */
  readonly grammar?: string;
}
