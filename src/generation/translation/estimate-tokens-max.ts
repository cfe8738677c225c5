import type { Language } from './languages.ts';

/** Tokens granted to any answer, and per character of the text. A longer answer does not end by itself. */
const BASE_TOKENS = 64;
const TOKENS_PER_CHARACTER = 2;

/**
 * Factors for characters that say as much as several letters, and for scripts that take several tokens per character.
 */
const DENSE_FACTOR = 4;
const TOKEN_HEAVY_FACTOR = 4;

const DENSE_CHARACTER = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}]/gv;

/** Languages in scripts for which many tokenizers take up to three tokens per character. */
const TOKEN_HEAVY_LANGUAGES: ReadonlySet<string> = new Set(
  (
    'th lo km my hi mr ne mai bn as gu or ta te kn si sd ur ka hy he el fa ' +
    'ar arz acm ary ars apc ajp acq aeb kk mk be'
  ).split(' '),
);

/** Returns a token limit that no regular translation of the text reaches. Stops answers that do not end. */
export function estimateTokensMax(text: string, { code }: Language): number {
  const denseCount = text.match(DENSE_CHARACTER)?.length ?? 0;
  const weight = text.length + (DENSE_FACTOR - 1) * denseCount;
  return BASE_TOKENS + TOKENS_PER_CHARACTER * (TOKEN_HEAVY_LANGUAGES.has(code) ? TOKEN_HEAVY_FACTOR : 1) * weight;
}
