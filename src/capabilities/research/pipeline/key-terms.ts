import { readClaims, isUnspaced, readVocabulary } from '../../../generation/citations/claims.ts';
import type { Topic } from './topic.ts';

/** Limits of a short query: words, and characters in scripts without spaces. */
const KEY_WORDS_MAX = 3;
const KEY_CHARS_MAX = 16;

/** Returns the most important words of a text in text order: names first, then other content words. */
export function extractKeyTerms(text: string): string {
  if (isUnspaced(text)) return splitUnspacedText(text)[0] ?? text;
  const chosen = new Set(rankWords(text).slice(0, KEY_WORDS_MAX));
  return rankWords(text, { isInOrder: true })
    .filter((word) => chosen.has(word))
    .join(' ');
}

/**
 * Returns a query of the model with each word once, because a small model repeats its last words endlessly. Key terms
 * of the topic are prepended when the query contains neither the topic's first key term nor half of its key terms.
 */
export function addTopicTerms({ topic }: Pick<Topic, 'topic'>, query: string): string {
  const queryWords = readVocabulary(query).words;
  return deduplicateWords(coversTopic(topic, queryWords) ? query : `${extractKeyTerms(topic)} ${query}`);
}

function coversTopic(topic: string, queryWords: ReadonlySet<string>): boolean {
  if (isUnspaced(topic)) return !readClaims(extractKeyTerms(topic)).words.isDisjointFrom(queryWords);
  const terms = rankWords(topic)
    .slice(0, KEY_WORDS_MAX)
    .map((term) => readClaims(term).words.isSubsetOf(queryWords));
  return terms[0] !== false || terms.filter((isStated) => isStated).length * 2 >= terms.length;
}

function deduplicateWords(text: string): string {
  const seen = new Set<string>();
  return text
    .split(/\s+/)
    .filter((word) => {
      const key = word.toLowerCase();
      const isRepeated = seen.has(key);
      seen.add(key);
      return !isRepeated;
    })
    .join(' ');
}

/**
 * Pairs the first key term with each other content word, names last. For scripts without spaces: the parts of the text.
 */
export function createTermPairs(text: string): readonly string[] {
  if (isUnspaced(text)) return splitUnspacedText(text);
  const [first, ...others] = rankWords(text);
  return first === undefined ? [] : others.toReversed().map((word) => `${first} ${word}`);
}

const splitUnspacedText = (text: string): readonly string[] =>
  text
    .split(/[。，、；：？！\s的和与及]/u)
    .filter((part) => part.length > 1)
    .map((part) => part.slice(0, KEY_CHARS_MAX));

/** Returns each content word once. Names come first unless `isInOrder` asks for the order of the text. */
function rankWords(
  text: string,
  { isInOrder }: { readonly isInOrder: boolean } = { isInOrder: false },
): readonly string[] {
  const { names } = readClaims(text);
  const words = (text.match(/[\p{L}\p{N}][\p{L}\p{N}.'’_-]*[\p{L}\p{N}]/gu) ?? []).filter(
    (word) => readClaims(word).words.size > 0 && !QUESTION_WORD.test(word),
  );
  const isNamed = (word: string): boolean => readClaims(word).words.intersection(names).size > 0;
  const inOrder = isInOrder ? words : [...words.filter(isNamed), ...words.filter((word) => !isNamed(word))];
  return [...new Set(inOrder)];
}

/** Words that phrase a question or a goal and carry no topic. */
const QUESTION_WORD =
  /^(?:how|what|which|why|find|explain|describe|tell|compare|learn|understand|identify|explore|report|overview|work|works|does)$/i;
