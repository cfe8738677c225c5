/** Scripts that put no blanks between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Myanmar}\p{Script=Khmer}]/u;

/** Whether a text begins in a script without blanks. */
export const isUnspaced = (text: string): boolean => UNSPACED.test(Array.from(text)[0] ?? '');

/** Whether a text ends in a script without blanks, or in a sign behind it. */
export const endsUnspaced = (text: string): boolean =>
  UNSPACED.test(Array.from(text.replace(/\p{P}+$/u, '')).at(-1) ?? '');
