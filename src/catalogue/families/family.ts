/**
 * What a prompt needs besides the model file's own chat template. All token names are texts of special tokens; the
 * renderer sends them as `special` segments.
 */
export interface Family {
  /**
   * System text for a conversation that has none. Templates of these files otherwise insert their maker's own words.
   * Absent: nothing is added.
   */
  readonly defaultSystem?: string;
  /** End an answer, besides the file's own end token. */
  readonly stopTokens: readonly string[];
  /** How its models write calls. Absent: as their template shows, or as they are told where it shows nothing. */
  readonly toolFormat?: ToolFormatName;
  /** Absent: the family cannot fill in the middle. */
  readonly fillInTheMiddle?: FillInTheMiddle;
}

/** Ways of writing calls that are understood; generation/tools/formats.ts says what they look like. */
export type ToolFormatName = 'hermes' | 'llama3' | 'mistral' | 'mistral-args' | 'deepseek' | 'deepseek-v31' | 'json';

/** Texts of the special tokens that stand before each part of such a prompt; the filling follows the last. */
export interface FillInTheMiddle {
  readonly prefix: string;
  readonly suffix: string;
  /** Stands at the end. Absent where the order of the others says enough. */
  readonly middle?: string;
  /** Which part comes first. Absent: the prefix. */
  readonly first?: 'suffix';
  /** End a completion: the next file, the next gap, or the end of the text. */
  readonly stopTokens: readonly string[];
}

/** Ours: neutral, and short enough to cost nothing. */
export const NEUTRAL_SYSTEM = 'You are a helpful assistant.';
