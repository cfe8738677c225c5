import type { Language } from './languages.ts';

/** Ours: tokens that any answer may have, and those for each character of the text; what is longer has run away. */
const TOKENS_BESIDE = 64;
const TOKENS_PER_CHARACTER = 2;

/** Ours: how many times more for a character that says as much as several letters, and for writing that has several tokens a character. */
const DENSE_FACTOR = 4;
const LONG_WRITING_FACTOR = 4;

const DENSE = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}]/gv;

/** Languages in whose writing tokenizers made for others take up to three tokens a character. */
const LONG_WRITING: ReadonlySet<string> = new Set(
  (
    'th lo km my hi mr ne mai bn as gu or ta te kn si sd ur ka hy he el fa ' +
    'ar arz acm ary ars apc ajp acq aeb kk mk be'
  ).split(' '),
);

/** Tokens that no translation of the text into the language has, as a limit of one that does not end. */
export function enoughTokens(text: string, { code }: Language): number {
  const dense = text.match(DENSE)?.length ?? 0;
  const weight = text.length + (DENSE_FACTOR - 1) * dense;
  return TOKENS_BESIDE + TOKENS_PER_CHARACTER * (LONG_WRITING.has(code) ? LONG_WRITING_FACTOR : 1) * weight;
}
