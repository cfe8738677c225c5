import { claimsOf, isUnspaced } from '../citations/claims.ts';

/** Ours: words of a short query, and characters in writing without blanks. */
const KEY_WORDS_MAX = 3;
const KEY_SIGNS_MAX = 16;

/** Words that a question or an aim is put in. */
const ASKING =
  /^(?:how|what|which|why|find|explain|describe|tell|compare|learn|understand|identify|explore|report|overview)$/i;

/** What a text is about, in few of its own words: what it names, then others that carry meaning. */
export function keyTerms(text: string): string {
  if (isUnspaced(text))
    return (
      text
        .split(/[。，、；：？！\s]/u)
        .find((part) => part !== '')
        ?.slice(0, KEY_SIGNS_MAX) ?? text
    );
  const { names } = claimsOf(text);
  const words = (text.match(/[\p{L}\p{N}][\p{L}\p{N}.'’_-]*[\p{L}\p{N}]/gu) ?? []).filter(
    (word) => claimsOf(word).words.size > 0 && !ASKING.test(word),
  );
  const isNamed = (word: string): boolean => claimsOf(word).words.intersection(names).size > 0;
  const ranked = [...words.filter(isNamed), ...words.filter((word) => !isNamed(word))];
  const chosen = new Set([...new Set(ranked)].slice(0, KEY_WORDS_MAX));
  return [...new Set(words)].filter((word) => chosen.has(word)).join(' ');
}
