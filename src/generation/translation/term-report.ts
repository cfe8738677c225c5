import type { FoundTerm } from './terms.ts';

/** Which terms a text has, and which of them lack their wording somewhere. */
export interface TermReport {
  add(found: readonly FoundTerm[], missed: readonly FoundTerm[]): void;
  readonly found: number;
  readonly kept: number;
}

/** A term counts once, however often it stands in a text; it is kept when it shows its wording in every segment. */
export function createTermReport(): TermReport {
  const found = new Set<string>();
  const missing = new Set<string>();
  return {
    add(all, missed) {
      for (const { source } of all) found.add(source.toLowerCase());
      for (const { source } of missed) missing.add(source.toLowerCase());
    },
    get found() {
      return found.size;
    },
    get kept() {
      return found.size - missing.size;
    },
  };
}
