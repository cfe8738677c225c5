import { INDEX_COVERAGE_WEIGHT, INDEX_MEANING_WEIGHT, INDEX_TITLE_COVERAGE_WEIGHT } from './limits.ts';
import type { IndexMatch, PassageRecord } from '../../store/index-search.ts';
import type { NearestDocuments, NearestPassage } from './find-nearest-documents.ts';
import type { TermWeights } from './term-weights.ts';
import { extractTerms } from './terms.ts';

/** A document that may answer a question, with the passages by which each search method found it. */
export interface Candidate {
  readonly document: number;
  readonly match: IndexMatch | undefined;
  readonly near: NearestPassage | undefined;
}

/** A candidate with its best passage. */
export interface ScoredCandidate extends Candidate {
  readonly best: PassageRecord;
  /** Share of the question that the passage and the names of its document cover, from 0 to 1. */
  readonly coverage: number;
  readonly score: number;
}

export interface ScoringOptions {
  readonly weights: TermWeights;
  readonly passages: ReadonlyMap<number, PassageRecord>;
  readonly incompleteCollections: NearestDocuments['incompleteCollections'];
}

/** Joins what both search methods found, each document once. */
export function joinCandidates(
  matches: readonly IndexMatch[],
  nearest: readonly NearestPassage[],
): readonly Candidate[] {
  const matchByDocument = new Map(matches.map((match) => [match.document, match]));
  const nearByDocument = new Map(nearest.map((near) => [near.document, near]));
  return [...new Set([...matchByDocument.keys(), ...nearByDocument.keys()])].map((document) => ({
    document,
    match: matchByDocument.get(document),
    near: nearByDocument.get(document),
  }));
}

/**
 * Scores candidates, best first. The score is a sum of shares of the best value among all: BM25 of the passage, cosine
 * similarity, and how much of the question the passage and the title cover. For a document whose vectors are not
 * compared, the share of BM25 stands for that of the similarity, so that it neither gains nor loses.
 */
export function scoreCandidates(
  candidates: readonly Candidate[],
  { weights, passages, incompleteCollections }: ScoringOptions,
): readonly ScoredCandidate[] {
  const wordsMax = Math.max(Number.MIN_VALUE, ...candidates.map(({ match }) => match?.score ?? 0));
  const similarities = candidates.flatMap(({ near }) => near?.similarity ?? []);
  const [similarityMin, similarityMax] = [Math.min(...similarities), Math.max(...similarities)];
  const scored = candidates.flatMap((candidate): readonly ScoredCandidate[] => {
    const { match, near } = candidate;
    const best = passages.get(match?.passage ?? near?.passage ?? 0);
    if (!best) return [];
    const words = (match?.score ?? 0) / wordsMax;
    const isCompared = similarities.length > 0 && !incompleteCollections.has(best.collection);
    const range = similarityMax - similarityMin;
    const similarity = near ? (range > 0 ? (near.similarity - similarityMin) / range : 1) : 0;
    const meaning = isCompared ? similarity : words;
    const path = best.url.startsWith('parley-index:') ? decodeURIComponent(best.url) : '';
    const nameTerms = new Set(extractTerms(`${best.title} ${path}`));
    const coverage = weights.computeCoverage(nameTerms.union(new Set(extractTerms(best.text))));
    const score =
      words +
      INDEX_MEANING_WEIGHT * meaning +
      INDEX_COVERAGE_WEIGHT * coverage +
      INDEX_TITLE_COVERAGE_WEIGHT * weights.computeCoverage(nameTerms);
    return [{ ...candidate, best, coverage, score }];
  });
  return scored.toSorted((one, other) => other.score - one.score || one.document - other.document);
}
