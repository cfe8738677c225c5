import { CITATION_SOURCE_CHARS_MAX } from '../../core/limits.ts';
import { vocabularyOf } from '../citations/claims.ts';
import { compoundsOf } from './wanted.ts';
import type { Wanted } from './wanted.ts';

/** What was fetched of a site: the page itself, or the passage that the local index found in one of its documents; '' of all others. */
export interface FetchedSite {
  readonly number: number;
  readonly title: string;
  readonly passage: string;
}

/** How far a page is about what is looked for. */
export interface PageFit {
  /** Of the words of the topic or of the query, 0 to 1. */
  readonly share: number;
  /** It is about something near the topic. */
  readonly isAside: boolean;
}

/** Ours: of what the best of the pages has, what another one has that is about the same, or near it; and of all that is wanted. */
const SAME = { ofBest: 0.6, least: 0.3 };
const NEAR = { ofBest: 0.4, least: 0.2 };

/** Ours: of what the best of the pages has of the topic. A page with less is about a query that is worded like many, `log file`. */
const TOPIC_ENOUGH = 0.5;

/** By number. What is about something else is not there. */
export function pageFits(sites: readonly FetchedSite[], about: Wanted['about']): ReadonlyMap<number, PageFit> {
  const shares = sharesOf(sites, about);
  const best = Math.max(0, ...shares);
  const fits = new Map<number, PageFit>();
  for (const [at, { number }] of sites.entries()) {
    const share = shares[at] ?? 0;
    const reaches = ({ ofBest, least }: typeof SAME): boolean => share >= Math.max(least, ofBest * best);
    if (reaches(NEAR)) fits.set(number, { share, isAside: !reaches(SAME) });
  }
  return fits;
}

/**
 * Words of few pages count more; those that no page has count most, so that no page is about a topic for its commonest word.
 */
function sharesOf(sites: readonly FetchedSite[], { topic, query }: Wanted['about']): readonly number[] {
  const pages = sites.map(({ title, passage }) => {
    const text = `${title}\n${passage.slice(0, CITATION_SOURCE_CHARS_MAX)}`;
    return wordsOf(text).union(compoundsOf(text));
  });
  const [ofTopic = [], ofQuery = []] = [topic, query].map((terms) => {
    const weights = [...terms].map(([word, weight]): readonly [string, number] => {
      const count = pages.filter((words) => words.has(word)).length;
      return [word, weight * Math.log(1 + (2 * pages.length) / Math.max(1, count))];
    });
    const total = sumOf(weights.map(([, weight]) => weight));
    return pages.map((words) =>
      total === 0 ? 0 : sumOf(weights.map(([word, weight]) => (words.has(word) ? weight : 0))) / total,
    );
  });
  const enough = TOPIC_ENOUGH * Math.max(0, ...ofTopic);
  return sites.map((_, at) => {
    const share = ofTopic[at] ?? 0;
    const trust = enough === 0 ? 1 : Math.min(1, share / enough);
    return Math.max(share, trust * (ofQuery[at] ?? 0));
  });
}

export const wordsOf = (text: string): ReadonlySet<string> => {
  const { words, numbers } = vocabularyOf(text);
  return words.union(numbers);
};

export const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);
