import type { SegmentResult } from './translate-segment.ts';

/** Counts what the checks of a translation found. */
export interface TranslationReport {
  add(segment: Omit<SegmentResult, 'text' | 'tokens'>): void;
  /** Terms found in the text. A term counts once per text, however often it occurs. */
  readonly found: number;
  /** Terms whose required wording is shown in every segment that contains them. */
  readonly shown: number;
  /** Segments that a model has translated. */
  readonly segments: number;
  /** Segments that are still in the source language. */
  readonly untranslated: number;
  /** Segments with a number or unit that the source does not have. */
  readonly numbers: number;
  /** Segments with a required wording that occurs too often. */
  readonly repeated: number;
}

export function createTranslationReport(): TranslationReport {
  const found = new Set<string>();
  const missing = new Set<string>();
  const counts = { segments: 0, untranslated: 0, numbers: 0, repeated: 0 };
  return {
    add({ terms, missingTerms, isUntranslated, isTruncated, problems }) {
      counts.segments++;
      for (const { source } of terms) found.add(source.toLowerCase());
      for (const { source } of missingTerms) missing.add(source.toLowerCase());
      if (isUntranslated) counts.untranslated++;
      // A cut translation lacks what follows; its finish reason says so.
      else if (!isTruncated && problems.numbers) counts.numbers++;
      if (problems.repeatedTerms.length > 0) counts.repeated++;
    },
    get found() {
      return found.size;
    },
    get shown() {
      return found.size - missing.size;
    },
    get segments() {
      return counts.segments;
    },
    get untranslated() {
      return counts.untranslated;
    },
    get numbers() {
      return counts.numbers;
    },
    get repeated() {
      return counts.repeated;
    },
  };
}

/**
 * Formats the counts of a translation, such as `unverified; segments=4; untranslated=1; numbers=0; repeated=0`. The first
 * word is `memory` when every part comes from the translation memory, else `unverified`: no check proves the meaning of
 * what a model writes.
 */
export const formatTranslationReport = ({ segments, untranslated, numbers, repeated }: TranslationReport): string =>
  segments === 0
    ? 'memory'
    : `unverified; segments=${segments}; untranslated=${untranslated}; numbers=${numbers}; repeated=${repeated}`;
