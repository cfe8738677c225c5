import { MARK } from './marks.ts';
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

/** Finds terms in composed (NFC) texts. Of two that overlap the longer one counts; marks are no part of a text. */
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
    const taken: Place[] = marksIn(text);
    const found: FoundTerm[] = [];
    for (const term of longestFirst) {
      const places = search.places(term.source).filter((place) => isFree(place, taken));
      if (places.length === 0) continue;
      taken.push(...places);
      found.push({ ...term, places });
    }
    return found;
  };
}

/** What a translation lacks of the wordings that it is to show. */
export interface Lack {
  /** Terms whose wording stands there less often than they, and others of the same wording, stand in the source. */
  readonly missed: readonly FoundTerm[];
  /** Places that are lacking, of all terms. */
  readonly places: number;
}

/** @param line A translation with the marks of its protected parts; what stands in a mark shows nothing. */
export function lackOf(line: string, terms: readonly FoundTerm[]): Lack {
  const shown = wordingPlaces(line, terms);
  const lacking = new Set<string>();
  let places = 0;
  for (const [wording, sharing] of Map.groupBy(terms, ({ target }) => target)) {
    const wanted = sharing.reduce((sum, term) => sum + term.places.length, 0);
    const less = wanted - (shown.get(wording)?.length ?? 0);
    if (less <= 0) continue;
    lacking.add(wording);
    places += less;
  }
  return { missed: terms.filter(({ target }) => lacking.has(target)), places };
}

/**
 * Where each wording is shown, the last word with a short ending if it is not short itself. Of two that overlap the longer
 * one has the place; a wording with capitals of its own has only places that are written so, or begin with one more.
 */
export function wordingPlaces(
  text: string,
  terms: readonly Pick<Term, 'target'>[],
): ReadonlyMap<string, readonly Place[]> {
  const composed = text.normalize('NFC');
  const search = searchIn(composed);
  const taken: Place[] = marksIn(composed);
  const shown = new Map<string, readonly Place[]>();
  const wordings = [...new Set(terms.map(({ target }) => target))].toSorted(
    (one, other) => other.length - one.length || Number(hasCapital(other)) - Number(hasCapital(one)),
  );
  for (const wording of wordings) {
    const places = search
      .places(wording, { mayInflect: true })
      .filter((place) => isFree(place, taken) && isWritten(composed.slice(place.start, place.end), wording));
    taken.push(...places);
    shown.set(wording, places);
  }
  return shown;
}

const isFree = ({ start, end }: Place, taken: readonly Place[]): boolean =>
  taken.every((other) => end <= other.start || other.end <= start);

const marksIn = (text: string): Place[] =>
  Array.from(text.matchAll(MARK), ({ index, 0: { length } }) => ({ start: index, end: index + length }));

const hasCapital = (text: string): boolean => text !== text.toLowerCase();

/** Over any blanks; `us` is not `US`, and `City Green` is not shown by CITY GREEN. */
function isWritten(shown: string, wording: string): boolean {
  if (!hasCapital(wording)) return true;
  const single = tidy(shown);
  return single.startsWith(wording) || single.startsWith(wording.charAt(0).toUpperCase() + wording.slice(1));
}

/**
 * Wordings of several words as they were wanted, `City Green` where `city green` is; the first letter stays a capital where
 * the text has one, as a sentence may begin with it. A single word may be another one in another case, an ending shows that
 * it is used in a way of its own, and what is all in capitals is so for its own reason: these stay, and so does everything
 * where the wording stands as it was wanted already.
 */
export function withWantedCase(text: string, terms: readonly Pick<Term, 'target'>[]): string {
  let result = text.normalize('NFC');
  for (const { target } of terms) {
    if (!target.includes(' ')) continue;
    const places = searchIn(result).places(target);
    const written = places.map(({ start, end }) => result.slice(start, end));
    if (written.some((shown) => tidy(shown) === target)) continue;
    for (const [at, { start, end }] of [...places.entries()].toReversed()) {
      const shown = written[at] ?? '';
      if (shown === shown.toUpperCase() || tidy(shown).length !== target.length) continue;
      const first = hasCapital(shown.charAt(0)) ? shown.charAt(0) : target.charAt(0);
      result = result.slice(0, start) + first + target.slice(1) + result.slice(end);
    }
  }
  return result;
}

/** Composed characters, single blanks. */
const tidy = (wording: string): string => wording.normalize('NFC').trim().replaceAll(/\s+/g, ' ');
