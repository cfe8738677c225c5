import { CACHE_MARKS_MAX } from '../../core/limits.ts';
import { EXPLICIT_CACHE_TOKENS_MIN } from './limits.ts';
import { roundDownToSlice } from './kv-cache.ts';

/** Explicit caching of one request: the marks in its prompt, and what was found and stored for them. */
export interface CacheRequest {
  /** Lengths of the prefixes to store, in tokens, in ascending order. */
  readonly marks: readonly number[];
  /** Marks that this run must still store. */
  unsavedMarks: readonly number[];
  /** Length of the longest stored prefix that was found when the run started, and that the run continued from. */
  foundTokens: number;
  /** Length of the longest prefix that another run stored while this run evaluated the same tokens. */
  savedByOthersTokens: number;
  /** Length of the longest prefix that this run stored. */
  savedTokens: number;
}

/**
 * Converts the cache marks of a prompt to prefix lengths worth storing. Lengths are rounded down to the slices of
 * seeded runs, so that seeded and unseeded runs can share entries. The rounding also usually drops a word that the mark
 * cuts.
 */
export function createCacheRequest(marks: readonly number[]): CacheRequest | undefined {
  if (marks.length === 0) return undefined;
  const usableMarks = marks.filter((mark) => mark >= EXPLICIT_CACHE_TOKENS_MIN).map(roundDownToSlice);
  const lengths = [...new Set(usableMarks)].toSorted((a, b) => a - b).slice(-CACHE_MARKS_MAX);
  return { marks: lengths, unsavedMarks: [], foundTokens: 0, savedByOthersTokens: 0, savedTokens: 0 };
}
