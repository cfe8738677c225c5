import type { FillInTheMiddle } from '../../core/fill-in-the-middle.ts';

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

/** Neutral and short. */
export const NEUTRAL_SYSTEM = 'You are a helpful assistant.';
