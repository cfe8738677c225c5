import { claimsOf, isUnspaced, vocabularyOf } from '../citations/claims.ts';
import type { Topic } from './topic.ts';

/** Ours: words of a short query, and characters in writing without blanks. */
const KEY_WORDS_MAX = 3;
const KEY_SIGNS_MAX = 16;

/** What a text is about, in few of its own words: what it names, then others that carry meaning. */
export function keyTerms(text: string): string {
  if (isUnspaced(text)) return partsOf(text)[0] ?? text;
  const chosen = new Set(ranked(text).slice(0, KEY_WORDS_MAX));
  return ranked(text, { isInOrder: true })
    .filter((word) => chosen.has(word))
    .join(' ');
}

/**
 * A query that a model worded, each word once: a small one goes on and on with its last. One that names neither what the
 * topic is about nor half of its key terms gets these before it.
 */
export function queryAbout({ topic }: Pick<Topic, 'topic'>, query: string): string {
  const stated = vocabularyOf(query).words;
  return eachWordOnce(isAbout(topic, stated) ? query : `${keyTerms(topic)} ${query}`);
}

function isAbout(topic: string, stated: ReadonlySet<string>): boolean {
  if (isUnspaced(topic)) return !claimsOf(keyTerms(topic)).words.isDisjointFrom(stated);
  const terms = ranked(topic)
    .slice(0, KEY_WORDS_MAX)
    .map((term) => claimsOf(term).words.isSubsetOf(stated));
  return terms[0] !== false || terms.filter((isStated) => isStated).length * 2 >= terms.length;
}

function eachWordOnce(text: string): string {
  const known = new Set<string>();
  return text
    .split(/\s+/)
    .filter((word) => {
      const key = word.toLowerCase();
      const isKnown = known.has(key);
      known.add(key);
      return !isKnown;
    })
    .join(' ');
}

/** The first of its key terms with each other word that carries meaning, names last; of writing without blanks its parts. */
export function termPairs(text: string): readonly string[] {
  if (isUnspaced(text)) return partsOf(text);
  const [first, ...others] = ranked(text);
  return first === undefined ? [] : others.toReversed().map((word) => `${first} ${word}`);
}

const partsOf = (text: string): readonly string[] =>
  text
    .split(/[。，、；：？！\s的和与及]/u)
    .filter((part) => part.length > 1)
    .map((part) => part.slice(0, KEY_SIGNS_MAX));

/** Each word that carries meaning once; those that name something first, unless they are wanted as they come. */
function ranked(
  text: string,
  { isInOrder }: { readonly isInOrder: boolean } = { isInOrder: false },
): readonly string[] {
  const { names } = claimsOf(text);
  const words = (text.match(/[\p{L}\p{N}][\p{L}\p{N}.'’_-]*[\p{L}\p{N}]/gu) ?? []).filter(
    (word) => claimsOf(word).words.size > 0 && !ASKING.test(word),
  );
  const isNamed = (word: string): boolean => claimsOf(word).words.intersection(names).size > 0;
  const inOrder = isInOrder ? words : [...words.filter(isNamed), ...words.filter((word) => !isNamed(word))];
  return [...new Set(inOrder)];
}

/** Words that a question or an aim is put in. */
const ASKING =
  /^(?:how|what|which|why|find|explain|describe|tell|compare|learn|understand|identify|explore|report|overview|work|works|does)$/i;
