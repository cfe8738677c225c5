import type { SegmentResult } from './translate-segment.ts';

/** Which terms a text has, which of them lack their wording somewhere, and what of it nobody translated. */
export interface TermReport {
  add(segment: Pick<SegmentResult, 'found' | 'missed' | 'isUntranslated'>): void;
  readonly found: number;
  readonly kept: number;
  /** Segments. */
  readonly untranslated: number;
}

/** A term counts once, however often it stands in a text; it is kept when it shows its wording in every segment. */
export function createTermReport(): TermReport {
  const found = new Set<string>();
  const missing = new Set<string>();
  let untranslated = 0;
  return {
    add({ found: all, missed, isUntranslated }) {
      if (isUntranslated) untranslated++;
      for (const { source } of all) found.add(source.toLowerCase());
      for (const { source } of missed) missing.add(source.toLowerCase());
    },
    get found() {
      return found.size;
    },
    get untranslated() {
      return untranslated;
    },
    get kept() {
      return found.size - missing.size;
    },
  };
}
