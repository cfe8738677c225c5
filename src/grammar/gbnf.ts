/** An optional space, which models tend to write after a colon or comma. Other white space is not allowed. */
export const OPTIONAL_SPACE = '" "?';

/** Formats text as a GBNF literal. A lone surrogate has no UTF-8 encoding and becomes U+FFFD. */
export const formatLiteral = (text: string): string =>
  `"${text.toWellFormed().replace(/["\\\p{Cc}]/gu, (character) => (/["\\]/.test(character) ? `\\${character}` : formatHexEscape(character)))}"`;

/** Formats a class of one or more characters that are not in `characters`. */
export const formatExcludedCharacters = (characters: string): string =>
  `[^${characters.toWellFormed().replace(/[[\]\\^\-"\p{Cc}]/gu, formatHexEscape)}]+`;

const formatHexEscape = (character: string): string =>
  `\\x${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(2, '0')}`;
