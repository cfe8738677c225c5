/**
 * Properties of a model family that are needed to build prompts, besides the chat template of the model file. Token
 * names are the texts of special tokens, which become `special` prompt segments.
 */
export interface ModelFamily {
  /**
   * System message for a conversation without one. Without it, the templates of these files insert their vendor's text.
   * Absent: no message is added.
   */
  readonly defaultSystem?: string;
  /** Special tokens that end an answer, besides the end token of the file. */
  readonly stopTokens: readonly string[];
  /** Format of tool calls. Absent: derived from the template, or described in the prompt. */
  readonly toolFormat?: ToolFormatName;
  /** Absent: the models cannot fill in the middle. */
  readonly fillInTheMiddle?: FillInTheMiddle;
}

/** Supported formats of tool calls, defined in generation/tools/formats.ts. */
export type ToolFormatName = 'hermes' | 'llama3' | 'mistral' | 'mistral-args' | 'deepseek' | 'deepseek-v31' | 'json';

/**
 * Texts of the special tokens that precede each part of a fill-in-the-middle prompt. The model continues after the
 * last.
 */
export interface FillInTheMiddle {
  readonly prefix: string;
  readonly suffix: string;
  /** Ends the prompt. Absent if the order of the parts suffices. */
  readonly middle?: string;
  /** The part that comes first. Default: the prefix. */
  readonly first?: 'suffix';
  /** Special tokens that end a completion: next file, next gap, end of text. */
  readonly stopTokens: readonly string[];
}

/** Neutral and short. */
export const NEUTRAL_SYSTEM = 'You are a helpful assistant.';
