import { foldedWording, searchIn } from './wording-search.ts';
import type { Place } from './wording-search.ts';

/** A wording that is wanted for a wording of the source. */
export interface Term {
  readonly source: string;
  readonly target: string;
}

/** A term that a text has, and where. */
export interface FoundTerm extends Term {
  readonly places: readonly Place[];
}

/** Finds terms in composed (NFC) texts. Of two that overlap the longer one counts. */
export function createTermFinder(terms: readonly Term[]): (text: string) => readonly FoundTerm[] {
  const ready = new Map<string, Term>();
  for (const { source, target } of terms) {
    const key = foldedWording(source);
    if (key === '' || target.trim() === '' || ready.has(key)) continue;
    ready.set(key, { source: tidy(source), target: tidy(target) });
  }
  const longestFirst = [...ready.values()].toSorted((one, other) => other.source.length - one.source.length);
  return (text) => {
    const search = searchIn(text);
    const taken: Place[] = [];
    const found: FoundTerm[] = [];
    for (const term of longestFirst) {
      const places = search
        .places(term.source)
        .filter(({ start, end }) => taken.every((other) => end <= other.start || other.end <= start));
      if (places.length === 0) continue;
      taken.push(...places);
      found.push({ ...term, places });
    }
    return found;
  };
}

/** The target wording is in the text, the last word with a short ending if it is not short itself. */
export const showsWording = (text: string, wording: string): boolean =>
  searchIn(text.normalize('NFC')).places(wording, { mayInflect: true }).length > 0;

/**
 * Wordings as they were wanted: `City Green` where `city green` is. The first letter stays a capital where the text has one:
 * a sentence may begin with it.
 */
export function withWantedCase(text: string, terms: readonly Term[]): string {
  let result = text.normalize('NFC');
  for (const { target } of terms) {
    for (const { start, end } of searchIn(result).places(target, { mayInflect: true }).toReversed()) {
      const shown = result.slice(start, end);
      const begin = shown.slice(0, target.length);
      if (begin === target || begin.toLowerCase() !== target.toLowerCase()) continue;
      const isCapital = begin[0] !== begin[0]?.toLowerCase();
      const wanted = `${isCapital ? begin[0] : target[0]}${target.slice(1)}${shown.slice(target.length)}`;
      result = result.slice(0, start) + wanted + result.slice(end);
    }
  }
  return result;
}

/** Composed characters, single blanks. */
const tidy = (wording: string): string => wording.normalize('NFC').trim().replaceAll(/\s+/g, ' ');
