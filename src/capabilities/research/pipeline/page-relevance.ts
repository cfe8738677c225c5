import { CITATION_SOURCE_CHARS_MAX } from '../../../generation/limits.ts';
import { readVocabulary } from '../../../generation/citations/claims.ts';
import { findCompounds, toRoot } from './relevance-terms.ts';
import type { RelevanceTerms } from './relevance-terms.ts';

/**
 * A site and its fetched text: the page, or the passage that the local index found in a document. Empty when neither
 * exists.
 */
export interface FetchedSite {
  readonly number: number;
  readonly title: string;
  readonly passage: string;
}

/** Minimum share of a page on the topic: relative to the best page's share, and absolute. */
const SHARE_OF_BEST_MIN = 0.4;
const SHARE_MIN = 0.2;

/**
 * Topic share, relative to the best page's, from which the query share counts fully. Below it, a page only shares
 * common query words such as `log file`.
 */
const TOPIC_SHARE_ENOUGH = 0.5;

/**
 * Computes how closely pages match what is searched: the weighted share of the question's or the query's words that each
 * contains, 0 to 1, by site number. Pages about another subject are left out.
 */
export function scorePages(
  sites: readonly FetchedSite[],
  about: Pick<RelevanceTerms, 'question' | 'query'>,
): ReadonlyMap<number, number> {
  const shares = computeShares(sites, about);
  const least = Math.max(SHARE_MIN, SHARE_OF_BEST_MIN * Math.max(0, ...shares));
  return new Map(
    sites.flatMap(({ number }, at) => {
      const share = shares[at] ?? 0;
      return share >= least ? [[number, share] as const] : [];
    }),
  );
}

/**
 * Weights rare words more. Words that no page has weigh most, so that a page does not match a topic by its most common
 * word.
 */
function computeShares(
  sites: readonly FetchedSite[],
  { question, query }: Pick<RelevanceTerms, 'question' | 'query'>,
): readonly number[] {
  const pages = sites.map(({ title, passage }) => {
    const text = `${title}\n${passage.slice(0, CITATION_SOURCE_CHARS_MAX)}`;
    return extractWords(text);
  });
  const [topicShares = [], queryShares = []] = [question, query].map((terms) => {
    const weights = [...terms].map(([word, weight]): readonly [string, number] => {
      const count = pages.filter((words) => words.has(word)).length;
      return [word, weight * Math.log(1 + (2 * pages.length) / Math.max(1, count))];
    });
    const total = sumNumbers(weights.map(([, weight]) => weight));
    return pages.map((words) =>
      total === 0 ? 0 : sumNumbers(weights.map(([word, weight]) => (words.has(word) ? weight : 0))) / total,
    );
  });
  const enough = TOPIC_SHARE_ENOUGH * Math.max(0, ...topicShares);
  return sites.map((_, at) => {
    const share = topicShares[at] ?? 0;
    const queryWeight = enough === 0 ? 1 : Math.min(1, share / enough);
    return Math.max(share, queryWeight * (queryShares[at] ?? 0));
  });
}

/** Returns the roots of a text's words, its compounds and its numbers. */
export const extractWords = (text: string): ReadonlySet<string> => {
  const { words, numbers } = readVocabulary(text);
  return new Set([...words].map(toRoot)).union(numbers).union(findCompounds(text));
};

export const sumNumbers = (numbers: Iterable<number>): number =>
  Iterator.from(numbers).reduce((sum, number) => sum + number, 0);
