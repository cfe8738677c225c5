import { sumNumbers, extractWords } from './page-relevance.ts';
import type { FetchedSite, PageRelevance } from './page-relevance.ts';
import type { PageStatement } from './page-statements.ts';
import type { RelevanceTerms } from './relevance-terms.ts';

/** A statement that may become a note. */
export interface NoteCandidate extends PageStatement {
  readonly site: FetchedSite;
  /** Position of the site in the results, from 0. */
  readonly rank: number;
  readonly relevance: PageRelevance;
  readonly words: ReadonlySet<string>;
}

/** Weights of the page title and of the position among the results, and the penalty for addressing the reader. */
const TITLE_WEIGHT = 0.35;
const RANK_WEIGHT = 0.15;
const READER_TALK_PENALTY = 0.12;

/** Share of the terms in the page title from which a sentence without any term is accepted. */
const TITLE_SHARE_ENOUGH = 0.3;

/** Minimum share of the terms in a sentence of a page near the topic. */
const ASIDE_SHARE_MIN = 0.12;

const SCORE_MIN = 0.001;

/** Scores statements by the terms they contain. Terms that few statements contain weigh more. 0 means irrelevant. */
export function createStatementScorer(
  termWeights: RelevanceTerms['weights'],
  candidates: readonly NoteCandidate[],
): (unit: NoteCandidate) => number {
  const counts = new Map<string, number>();
  for (const { words } of candidates)
    for (const word of words) if (termWeights.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const weights = [...termWeights].flatMap(([word, weight]): (readonly [string, number])[] => {
    const count = counts.get(word) ?? 0;
    // A term without occurrences does not distinguish statements.
    return count === 0 ? [] : [[word, weight * Math.log(1 + candidates.length / count)]];
  });
  const total = sumNumbers(weights.map(([, weight]) => weight));
  const computeShare = (words: ReadonlySet<string>): number =>
    total === 0 ? 0 : sumNumbers(weights.map(([word, weight]) => (words.has(word) ? weight : 0))) / total;
  const titles = new Map<FetchedSite, number>();
  const titleShare = (site: FetchedSite): number => {
    const share = titles.get(site) ?? computeShare(extractWords(site.title));
    titles.set(site, share);
    return share;
  };
  return ({ words, site, rank, relevance, sentences }) => {
    const wordShare = computeShare(words);
    const title = titleShare(site);
    const isIrrelevant = relevance.isAside
      ? wordShare < ASIDE_SHARE_MIN
      : wordShare === 0 && title < TITLE_SHARE_ENOUGH;
    if (isIrrelevant) return 0;
    const talk = READER_TALK.test(sentences[0] ?? '') ? READER_TALK_PENALTY : 0;
    const points = wordShare + TITLE_WEIGHT * title + RANK_WEIGHT / (1 + rank) - talk;
    return Math.max(SCORE_MIN, ((1 + relevance.share) / 2) * points);
  };
}

/** Words that address the reader or refer to the writer. */
const READER_TALK = /\b(?:you|your|we|our|us|i|my|i'm|we're|you're)\b/i;
