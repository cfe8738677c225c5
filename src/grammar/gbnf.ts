/** A blank where models like one: after a colon and a comma. Anywhere else there is none. */
export const BLANK = '" "?';

/** The text itself, as a GBNF literal. Half a surrogate pair has no UTF-8, so it becomes U+FFFD. */
export const literal = (text: string): string =>
  `"${text.toWellFormed().replace(/["\\\p{Cc}]/gu, (character) => (/["\\]/.test(character) ? `\\${character}` : hex(character)))}"`;

/** One or more characters that are none of these. */
export const without = (characters: string): string =>
  `[^${characters.toWellFormed().replace(/[[\]\\^\-"\p{Cc}]/gu, hex)}]+`;

const hex = (character: string): string =>
  `\\x${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(2, '0')}`;
