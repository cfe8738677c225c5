import { MARK } from './marks.ts';
import { normalizeWording, createWordingSearch, type TextRange } from './wording-search.ts';

/** A source wording and the required wording of its translation. */
export interface Term {
  readonly source: string;
  readonly target: string;
}

/** A term with its occurrences in a text. */
export interface TermOccurrence extends Term {
  readonly ranges: readonly TextRange[];
}

/** Creates a function that finds terms in NFC texts. Of overlapping terms the longer counts; marks are not searched. */
export function createTermFinder(terms: readonly Term[]): (text: string) => readonly TermOccurrence[] {
  const ready = new Map<string, Term>();
  for (const { source, target } of terms) {
    const key = normalizeWording(source);
    if (key === '' || target.trim() === '' || ready.has(key)) continue;
    ready.set(key, { source: normalizeWordingSpaces(source), target: normalizeWordingSpaces(target) });
  }
  const longestFirst = [...ready.values()].toSorted((one, other) => other.source.length - one.source.length);
  return (text) => {
    const search = createWordingSearch(text);
    const taken: TextRange[] = findMarkRanges(text);
    const found: TermOccurrence[] = [];
    for (const term of longestFirst) {
      const ranges = search.find(term.source).filter((range) => isUntaken(range, taken));
      if (ranges.length === 0) continue;
      taken.push(...ranges);
      found.push({ ...term, ranges });
    }
    return found;
  };
}

/** Required wordings that a translation lacks. */
export interface MissingWordings {
  /** Terms whose wording occurs less often than all terms with that wording occur in the source. */
  readonly terms: readonly TermOccurrence[];
  /** Number of missing occurrences, of all terms. */
  readonly count: number;
}

/** @param line A translation that still has the marks of protected parts. Marks show no wording. */
export function findMissingWordings(line: string, terms: readonly TermOccurrence[]): MissingWordings {
  const missing = countWordings(line, terms).filter(({ shown, wanted }) => shown < wanted);
  const missingTerms = new Set(missing.flatMap((wording) => wording.terms));
  return {
    terms: terms.filter((term) => missingTerms.has(term)),
    count: missing.reduce((sum, { shown, wanted }) => sum + wanted - shown, 0),
  };
}

interface WordingCount {
  /** Terms with this wording. */
  readonly terms: readonly TermOccurrence[];
  /** Occurrences of these terms in the source. */
  readonly wanted: number;
  /** Occurrences of the wording in the translation. */
  readonly shown: number;
}

/** Counts each required wording in a translation. */
export function countWordings(line: string, terms: readonly TermOccurrence[]): readonly WordingCount[] {
  const shownRanges = findWordingRanges(line, terms);
  return Array.from(
    Map.groupBy(terms, ({ target }) => target),
    ([wording, sameWording]) => ({
      terms: sameWording,
      wanted: sameWording.reduce((sum, term) => sum + term.ranges.length, 0),
      shown: shownRanges.get(wording)?.length ?? 0,
    }),
  );
}

/**
 * Finds the ranges that show each wording. A long last word may have a short ending. Of overlapping wordings the longer
 * counts. A wording with capitals matches only text with the same capitals, or with a capital first letter in addition.
 */
export function findWordingRanges(
  text: string,
  terms: readonly Pick<Term, 'target'>[],
): ReadonlyMap<string, readonly TextRange[]> {
  const composed = text.normalize('NFC');
  const search = createWordingSearch(composed);
  const taken: TextRange[] = findMarkRanges(composed);
  const shown = new Map<string, readonly TextRange[]>();
  const wordings = [...new Set(terms.map(({ target }) => target))].toSorted(
    (one, other) => other.length - one.length || Number(hasCapital(other)) - Number(hasCapital(one)),
  );
  for (const wording of wordings) {
    const ranges = search
      .find(wording, { mayInflect: true })
      .filter((range) => isUntaken(range, taken) && hasWantedCase(composed.slice(range.start, range.end), wording));
    taken.push(...ranges);
    shown.set(wording, ranges);
  }
  return shown;
}

const isUntaken = ({ start, end }: TextRange, taken: readonly TextRange[]): boolean =>
  taken.every((other) => end <= other.start || other.end <= start);

const findMarkRanges = (text: string): TextRange[] =>
  Array.from(text.matchAll(MARK), ({ index, 0: { length } }) => ({ start: index, end: index + length }));

const hasCapital = (text: string): boolean => text !== text.toLowerCase();

/** Compares with normalized spaces: `us` does not match `US`, nor `CITY GREEN` the wording `City Green`. */
function hasWantedCase(shown: string, wording: string): boolean {
  if (!hasCapital(wording)) return true;
  const single = normalizeWordingSpaces(shown);
  return single.startsWith(wording) || single.startsWith(wording.charAt(0).toUpperCase() + wording.slice(1));
}

/**
 * Corrects the case of wordings with several words: `city green` becomes `City Green`. A capital first letter stays,
 * because a sentence may begin with it. Unchanged are single words, which may be different words in another case; words
 * with an ending; text in capitals; and every occurrence when the wording already occurs in its required case.
 */
export function restoreWordingCase(text: string, terms: readonly Pick<Term, 'target'>[]): string {
  let result = text.normalize('NFC');
  for (const { target } of terms) {
    if (!target.includes(' ')) continue;
    const ranges = createWordingSearch(result).find(target);
    const written = ranges.map(({ start, end }) => result.slice(start, end));
    if (written.some((shown) => normalizeWordingSpaces(shown) === target)) continue;
    for (const [at, { start, end }] of [...ranges.entries()].toReversed()) {
      const shown = written[at] ?? '';
      if (shown === shown.toUpperCase() || normalizeWordingSpaces(shown).length !== target.length) continue;
      const first = hasCapital(shown.charAt(0)) ? shown.charAt(0) : target.charAt(0);
      result = result.slice(0, start) + first + target.slice(1) + result.slice(end);
    }
  }
  return result;
}

/** Normalizes to NFC and single spaces. */
const normalizeWordingSpaces = (wording: string): string => wording.normalize('NFC').trim().replaceAll(/\s+/g, ' ');
