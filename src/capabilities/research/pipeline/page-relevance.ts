import { CITATION_SOURCE_CHARS_MAX } from '../../../generation/limits.ts';
import { readVocabulary } from '../../../generation/citations/claims.ts';
import { findCompounds } from './relevance-terms.ts';
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

/** How closely a page matches what is searched. */
export interface PageRelevance {
  /** Weighted share of the topic's or the query's words that the page contains, 0 to 1. */
  readonly share: number;
  /** The page covers a related subject, not the topic itself. */
  readonly isAside: boolean;
}

/** Minimum shares for a page on the topic, and near it: relative to the best page's share, and absolute. */
const ON_TOPIC = { ofBest: 0.6, least: 0.3 };
const NEAR_TOPIC = { ofBest: 0.4, least: 0.2 };

/**
 * Topic share, relative to the best page's, from which the query share counts fully. Below it, a page only shares
 * common query words such as `log file`.
 */
const TOPIC_SHARE_ENOUGH = 0.5;

/** Relevance by site number. Pages about another subject are left out. */
export function scorePages(
  sites: readonly FetchedSite[],
  about: RelevanceTerms['subject'],
): ReadonlyMap<number, PageRelevance> {
  const shares = computeShares(sites, about);
  const best = Math.max(0, ...shares);
  const fits = new Map<number, PageRelevance>();
  for (const [at, { number }] of sites.entries()) {
    const share = shares[at] ?? 0;
    const reachesThreshold = ({ ofBest, least }: typeof ON_TOPIC): boolean => share >= Math.max(least, ofBest * best);
    if (reachesThreshold(NEAR_TOPIC)) fits.set(number, { share, isAside: !reachesThreshold(ON_TOPIC) });
  }
  return fits;
}

/**
 * Weights rare words more. Words that no page has weigh most, so that a page does not match a topic by its most common
 * word.
 */
function computeShares(sites: readonly FetchedSite[], { topic, query }: RelevanceTerms['subject']): readonly number[] {
  const pages = sites.map(({ title, passage }) => {
    const text = `${title}\n${passage.slice(0, CITATION_SOURCE_CHARS_MAX)}`;
    return extractWords(text).union(findCompounds(text));
  });
  const [topicShares = [], queryShares = []] = [topic, query].map((terms) => {
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

export const extractWords = (text: string): ReadonlySet<string> => {
  const { words, numbers } = readVocabulary(text);
  return words.union(numbers);
};

export const sumNumbers = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);
