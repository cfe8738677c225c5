import type { SegmentResult } from './translate-segment.ts';

/** Counts the terms found in a text, those always shown in their required wording, and untranslated segments. */
export interface TermReport {
  add(segment: Pick<SegmentResult, 'terms' | 'missingTerms' | 'isUntranslated'>): void;
  readonly found: number;
  /** Terms whose required wording is shown in every segment that contains them. */
  readonly shown: number;
  readonly untranslatedSegments: number;
}

/** A term counts once per text, however often it occurs. */
export function createTermReport(): TermReport {
  const found = new Set<string>();
  const missing = new Set<string>();
  let untranslated = 0;
  return {
    add({ terms: segmentTerms, missingTerms, isUntranslated }) {
      if (isUntranslated) untranslated++;
      for (const { source } of segmentTerms) found.add(source.toLowerCase());
      for (const { source } of missingTerms) missing.add(source.toLowerCase());
    },
    get found() {
      return found.size;
    },
    get untranslatedSegments() {
      return untranslated;
    },
    get shown() {
      return found.size - missing.size;
    },
  };
}
