/** A wording that is wanted for a wording of the source. */
export interface Term {
  readonly source: string;
  readonly target: string;
}

/** A term that a text has, and where. */
export interface FoundTerm extends Term {
  readonly places: readonly { readonly start: number; readonly end: number }[];
}

/**
 * Characters that words are made of, in writing where a word ends at a blank. Writing without blanks, and languages that
 * write particles and articles together with their word (Korean, Arabic, Hebrew), are left out: there a word may begin and
 * end anywhere.
 */
const LETTER = String.raw`[[\p{L}\p{N}\p{M}_]--[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Arabic}\p{scx=Hebrew}]]`;

const IS_LETTER = new RegExp(LETTER, 'v');

/** Ours: letters that an ending may add to a target wording, and how long a wording has to be to take one. */
const ENDING_LETTERS_MAX = 2;
const INFLECTED_CHARACTERS_MIN = 4;

interface ReadyTerm extends Term {
  readonly pattern: RegExp;
}

/** Finds terms in texts. Of two that overlap the longer one counts; case does not matter; words are whole. */
export function createTermFinder(terms: readonly Term[]): (text: string) => readonly FoundTerm[] {
  const ready = new Map<string, ReadyTerm>();
  for (const { source, target } of terms) {
    const wording = tidy(source);
    const key = wording.toLowerCase();
    if (wording === '' || target.trim() === '' || ready.has(key)) continue;
    ready.set(key, { source: wording, target: tidy(target), pattern: wordingPattern(wording, 'g') });
  }
  const longestFirst = [...ready.values()].toSorted((one, other) => other.source.length - one.source.length);
  return (text) => {
    const taken: { readonly start: number; readonly end: number }[] = [];
    const found: FoundTerm[] = [];
    for (const { source, target, pattern } of longestFirst) {
      const places = Array.from(text.matchAll(pattern), ({ index, 0: { length } }) => ({
        start: index,
        end: index + length,
      })).filter(({ start, end }) => taken.every((other) => end <= other.start || other.end <= start));
      if (places.length === 0) continue;
      taken.push(...places);
      found.push({ source, target, places });
    }
    return found;
  };
}

/** The target wording is in the text as words of their own, of which the last may have an ending. */
export const showsWording = (text: string, wording: string): boolean =>
  wordingPattern(tidy(wording), '', { mayInflect: true }).test(text.normalize('NFC'));

/**
 * Wordings as they were wanted: `city green` where `City Green` is. The first letter stays a capital where the text has one:
 * a sentence may begin with it.
 */
export function withWantedCase(text: string, terms: readonly Term[]): string {
  let result = text;
  for (const { target } of terms) {
    result = result.replaceAll(wordingPattern(tidy(target), 'g', { mayInflect: true }), (shown) => {
      const begin = shown.slice(0, target.length);
      if (begin === target || begin.toLowerCase() !== target.toLowerCase()) return shown;
      const isCapital = begin[0] !== begin[0]?.toLowerCase();
      return `${isCapital ? begin[0] : target[0]}${target.slice(1)}${shown.slice(target.length)}`;
    });
  }
  return result;
}

/** One wording for what looks alike: composed characters, single blanks. */
const tidy = (wording: string): string => wording.normalize('NFC').trim().replaceAll(/\s+/g, ' ');

/** The wording in any case, between ends of words where it begins and ends with a letter. */
export function wordingPattern(wording: string, flags: '' | 'g', { mayInflect = false } = {}): RegExp {
  const characters = Array.from(wording);
  const isWordAt = (at: number): boolean => IS_LETTER.test(characters.at(at) ?? '');
  const ending =
    mayInflect && characters.length >= INFLECTED_CHARACTERS_MIN ? `${LETTER}{0,${ENDING_LETTERS_MAX}}` : '';
  const before = isWordAt(0) ? `(?<!${LETTER})` : '';
  const behind = isWordAt(-1) ? `${ending}(?!${LETTER})` : '';
  return new RegExp(before + spell(wording) + behind, `iv${flags}`);
}

/** A wording as a pattern that any blanks may part. */
const spell = (wording: string): string =>
  wording
    .split(' ')
    .map((word) => RegExp.escape(word))
    .join(String.raw`\s+`);
