import {
  INDEX_COVERAGE_WEIGHT,
  INDEX_HEADING_COVERAGE_WEIGHT,
  INDEX_LEAD_COVERAGE_WEIGHT,
  INDEX_LEAD_MEANING_WEIGHT,
  INDEX_LENGTH_PENALTY,
  INDEX_MEANING_WEIGHT,
  INDEX_TITLE_COVERAGE_WEIGHT,
  INDEX_WORDS_WEIGHT,
} from './limits.ts';
import type { IndexMatch, PassageRecord } from '../../store/index-search.ts';
import type { NearestDocuments, NearestPassage } from './find-nearest-documents.ts';
import type { TermWeights } from './term-weights.ts';
import { extractTerms } from './terms.ts';

/** A document that may answer a question, with the passages by which each search method found it. */
export interface Candidate {
  readonly document: number;
  readonly match: IndexMatch | undefined;
  /** Set if its vectors were compared. */
  readonly near: NearestPassage | undefined;
  /** Whether it is among the most similar ones. */
  readonly isNearest: boolean;
}

/** A candidate with its best passage. */
export interface ScoredCandidate extends Candidate {
  readonly best: PassageRecord;
  /**
   * Share that the passage and the names of its document cover, from 0 to 1: of the question, or of the query alone if that
   * is more.
   */
  readonly coverage: number;
  readonly score: number;
}

export interface ScoringOptions {
  readonly weights: TermWeights;
  /** Weights of the words of the query without those of the user's message, which may be long and mostly about something else. */
  readonly queryWeights: TermWeights;
  /** Passages by their number: the best ones, and the first ones of their documents. */
  readonly passages: ReadonlyMap<number, PassageRecord>;
}

/** Joins what both search methods found, each document once. */
export function joinCandidates(
  matches: readonly IndexMatch[],
  found: NearestDocuments | undefined,
): readonly Candidate[] {
  const matchByDocument = new Map(matches.map((match) => [match.document, match]));
  const nearest = new Set(found?.nearest.map(({ document }) => document));
  return [...nearest.union(matchByDocument)].map((document) => ({
    document,
    match: matchByDocument.get(document),
    near: found?.byDocument.get(document),
    isNearest: nearest.has(document),
  }));
}

/** Returns the number of the best passage of a candidate. */
export const getBestPassage = ({ match, near }: Candidate): number => match?.passage ?? near?.passage ?? 0;

/**
 * Scores candidates, best first. The score is a weighted sum of shares: of the best BM25 score; of the range of
 * similarities; and of the question, as far as the passage, its headings, and the title and the beginning of the document
 * cover it. Long documents, which have more chances to match, lose a little.
 */
export function scoreCandidates(
  candidates: readonly Candidate[],
  { weights, queryWeights, passages }: ScoringOptions,
): readonly ScoredCandidate[] {
  const wordsMax = Math.max(Number.MIN_VALUE, ...candidates.map(({ match }) => match?.score ?? 0));
  const measureMeaning = createMeaningScale(candidates);
  const scored = candidates.flatMap((candidate): readonly ScoredCandidate[] => {
    const best = passages.get(getBestPassage(candidate));
    if (!best) return [];
    const words = (candidate.match?.score ?? 0) / wordsMax;
    const coverages = computeCoverages(best, passages.get(best.firstPassage), weights);
    const coverage = Math.max(coverages.whole, queryWeights.computeCoverage(coverages.terms));
    const score =
      INDEX_WORDS_WEIGHT * words +
      measureMeaning(candidate, words) +
      INDEX_COVERAGE_WEIGHT * coverages.whole +
      INDEX_TITLE_COVERAGE_WEIGHT * coverages.title +
      INDEX_HEADING_COVERAGE_WEIGHT * coverages.headings +
      INDEX_LEAD_COVERAGE_WEIGHT * coverages.lead -
      INDEX_LENGTH_PENALTY * Math.log2(best.passages);
    return [{ ...candidate, best, coverage, score }];
  });
  return scored.toSorted((one, other) => other.score - one.score || one.document - other.document);
}

/**
 * Creates the function that returns the weighted shares of the meaning. Where the vectors of some candidates were not
 * compared, their share of the words stands for these shares, so that they neither gain nor lose.
 */
function createMeaningScale(candidates: readonly Candidate[]): (candidate: Candidate, words: number) => number {
  const compared = candidates.flatMap(({ near }) => near ?? []);
  const toShare = createRangeShare(compared.map(({ similarity }) => similarity));
  const toLeadShare = createRangeShare(compared.map(({ leadSimilarity }) => leadSimilarity));
  if (compared.length === 0) return () => 0;
  return ({ near }, words) =>
    INDEX_MEANING_WEIGHT * (near ? toShare(near.similarity) : words) +
    INDEX_LEAD_MEANING_WEIGHT * (near ? toLeadShare(near.leadSimilarity) : words);
}

/** Creates the function that maps the range of the values to 0 to 1. */
function createRangeShare(values: readonly number[]): (value: number) => number {
  const [min, max] = [Math.min(...values), Math.max(...values)];
  return (value) => (max > min ? (value - min) / (max - min) : 1);
}

/** Computes which shares of the question several parts of a document cover. */
function computeCoverages(best: PassageRecord, lead: PassageRecord | undefined, weights: TermWeights) {
  const path = best.url.startsWith('parley-index:') ? decodeURIComponent(best.url) : '';
  const names = new Set(extractTerms(`${best.title} ${path}`));
  const headings = best.text.match(/^#{1,6} .*$/gm)?.join('\n') ?? '';
  const terms = names.union(new Set(extractTerms(best.text)));
  return {
    terms,
    whole: weights.computeCoverage(terms),
    title: weights.computeCoverage(names),
    headings: weights.computeCoverage(new Set(extractTerms(headings))),
    lead: weights.computeCoverage(new Set(extractTerms(`${best.title} ${lead?.text ?? ''}`))),
  };
}
