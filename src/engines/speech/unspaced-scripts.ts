/** Scripts that write no spaces between words. */
const UNSPACED_SCRIPTS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Myanmar}\p{Script=Khmer}]/u;

/** Returns whether a text starts in a script without spaces. */
export const startsInUnspacedScript = (text: string): boolean => UNSPACED_SCRIPTS.test(Array.from(text)[0] ?? '');

/** Returns whether a text ends in a script without spaces, ignoring punctuation at its end. */
export const endsInUnspacedScript = (text: string): boolean =>
  UNSPACED_SCRIPTS.test(Array.from(text.replace(/\p{P}+$/u, '')).at(-1) ?? '');
