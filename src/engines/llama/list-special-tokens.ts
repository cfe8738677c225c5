import { isMarkup } from '../is-markup.ts';

/** A vocabulary of the library. */
export interface NativeVocabulary {
  getTokenString(token: number): string;
  getTokenAttributes(token: number): number;
}

export interface NativeSpecialToken {
  readonly id: number;
  readonly text: string;
  /** Control tokens occur only where special tokens are parsed. The library matches the others in every text. */
  readonly isControl: boolean;
}

export const TOKEN_ATTRIBUTE_CONTROL = 1 << 3;
export const TOKEN_ATTRIBUTE_USER_DEFINED = 1 << 4;

/**
 * Lists the special tokens of a vocabulary: control tokens, whatever they look like, and user-defined tokens that are
 * marks. Other user-defined tokens are ordinary text, such as the runs of blanks of code models.
 *
 * @param declared Tokens that the model's file names as special, whatever their type is.
 */
export function listSpecialTokens(
  vocabulary: NativeVocabulary,
  size: number,
  declared: readonly number[] = [],
): readonly NativeSpecialToken[] {
  const tokens: NativeSpecialToken[] = [];
  for (let id = 0; id < size; id++) {
    const attributes = vocabulary.getTokenAttributes(id);
    const isControl = (attributes & TOKEN_ATTRIBUTE_CONTROL) !== 0;
    const isDeclared = declared.includes(id);
    if (!isControl && !isDeclared && (attributes & TOKEN_ATTRIBUTE_USER_DEFINED) === 0) continue;
    const text = vocabulary.getTokenString(id);
    if (text !== '' && (isControl || isDeclared || isMarkup(text))) tokens.push({ id, text, isControl });
  }
  return tokens;
}

/**
 * Returns the texts that the library turns into a special token wherever they stand. SentencePiece adds the blank of a
 * token such as `▁<PRE>` itself.
 */
export const listMarkupInText = (tokens: readonly NativeSpecialToken[]): readonly string[] =>
  tokens.filter(({ isControl }) => !isControl).map(({ text }) => text.replace(/^\u2581/, ''));
