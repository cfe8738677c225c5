import type { Kysely, RawBuilder } from 'kysely';
import type { Database } from '../schema/database.ts';

export interface PassageTerms {
  readonly passage: number;
  /** In their order, as often as they occur: letters and digits, without blanks. What a term is, is decided above. */
  readonly terms: readonly string[];
}

/**
 * Which passage has which terms. A database brings its own index for that, and both rank by BM25 with k1 = 1.2 and b = 0.75
 * over everything there is, so that the same question has the same answer on each.
 */
export interface FullText {
  /** Called by migration 0011 only: what is once released never changes. */
  create(db: Kysely<Database>): Promise<void>;
  add(db: Kysely<Database>, rows: readonly PassageTerms[]): Promise<void>;
  /** All passages whose numbers lie in that stretch, its ends among them. */
  remove(db: Kysely<Database>, stretch: { readonly first: number; readonly last: number }): Promise<void>;
  /** Rows of `passage` and `score`, the higher the better: those that have one of the terms, of which there is one at least. */
  scored(terms: readonly string[]): RawBuilder<unknown>;
  /** How many passages there are, and how many have each term: in the order of the terms. */
  counts(
    db: Kysely<Database>,
    terms: readonly string[],
  ): Promise<{ readonly passages: number; readonly having: readonly number[] }>;
}

/** Of BM25: how much a term that occurs again adds, and how much long passages lose. SQLite has them built in. */
export const BM25 = { k1: 1.2, b: 0.75 } as const;
