import type { Kysely, RawBuilder } from 'kysely';
import type { Database } from '../schema/database.ts';

export interface PassageTerms {
  readonly passage: number;
  /** Terms in order, with repetitions: letters and digits, no white space. The caller splits text into terms. */
  readonly terms: readonly string[];
}

/**
 * Inverted index of passages by term. Each database uses its native index. All rank by BM25 with k1 = 1.2 and b = 0.75
 * over all passages, so that a query has the same result on each database.
 */
export interface FullTextIndex {
  /** Called by migration 0011 only; must never change. */
  create(db: Kysely<Database>): Promise<void>;
  add(db: Kysely<Database>, rows: readonly PassageTerms[]): Promise<void>;
  /** Removes all passages with numbers from `first` to `last`, both included. */
  remove(db: Kysely<Database>, range: { readonly first: number; readonly last: number }): Promise<void>;
  /**
   * Selects rows of `passage` and `score` (higher is better) for passages with at least one of the terms.
   * @param terms At least one.
   */
  selectScores(terms: readonly string[]): RawBuilder<unknown>;
  /** Counts all passages, and the passages that contain each term, in the order of the terms. */
  countTerms(
    db: Kysely<Database>,
    terms: readonly string[],
  ): Promise<{ readonly passages: number; readonly passagesByTerm: readonly number[] }>;
}

/**
 * BM25 parameters: weight of repeated terms (k1) and penalty for long passages (b). SQLite has these values built in.
 */
export const BM25 = { k1: 1.2, b: 0.75 } as const;
