export interface Place {
  readonly start: number;
  /** Behind the last character. */
  readonly end: number;
}

/** A text in which wordings are looked for. */
export interface WordingSearch {
  /**
   * Where the wording stands, in any case, over any blanks, as whole words. Places do not overlap.
   *
   * @param mayInflect The last word may have a short ending more.
   */
  places(wording: string, options?: { readonly mayInflect?: boolean }): readonly Place[];
}

/**
 * Characters that words are made of, in writing where a word ends at a blank. Writing without blanks, and languages that
 * write particles and articles together with their word (Korean, Arabic, Hebrew), are left out: there a word may begin and
 * end anywhere.
 */
const LETTER =
  /[[\p{L}\p{N}\p{M}_]--[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Arabic}\p{scx=Hebrew}]]/v;

/** Ours: letters that an ending may add to a wording, and how long a wording has to be to take one. */
const ENDING_LETTERS_MAX = 2;
const INFLECTED_CHARACTERS_MIN = 4;

/** An expression for each wording would take milliseconds to make, and requests have thousands of them. */
export function searchIn(text: string): WordingSearch {
  const { folded, from } = fold(text);
  return {
    places(wording, { mayInflect = false } = {}) {
      const wanted = foldedWording(wording);
      if (wanted === '') return [];
      const endingMax = mayInflect && Array.from(wanted).length >= INFLECTED_CHARACTERS_MIN ? ENDING_LETTERS_MAX : 0;
      const isWordFirst = isLetter(characterAt(wanted, 0));
      const isWordLast = isLetter(characterBefore(wanted, wanted.length));
      const places: Place[] = [];
      let at = folded.indexOf(wanted);
      while (at >= 0) {
        let end = at + wanted.length;
        const ending = isWordLast ? lettersAt(folded, end, endingMax + 1) : '';
        const isWhole =
          !(isWordFirst && isLetter(characterBefore(folded, at))) && Array.from(ending).length <= endingMax;
        if (isWhole) {
          end += ending.length;
          places.push({ start: from[at] ?? 0, end: from[end] ?? text.length });
        }
        at = folded.indexOf(wanted, isWhole ? end : at + 1);
      }
      return places;
    },
  };
}

/** One form of what counts as the same: composed characters, single blanks, any case. */
export const foldedWording = (wording: string): string => fold(wording.normalize('NFC').trim()).folded;

/** Lower case and single blanks, and for each unit of that (and the end) where it stands in the text. */
function fold(text: string): { readonly folded: string; readonly from: readonly number[] } {
  const from: number[] = [];
  let folded = '';
  let at = 0;
  for (const character of text) {
    const isBlank = /\s/.test(character);
    if (!(isBlank && folded.endsWith(' '))) {
      const lower = isBlank ? ' ' : character.toLowerCase();
      for (let unit = 0; unit < lower.length; unit++) from.push(at + Math.min(unit, character.length - 1));
      folded += lower;
    }
    at += character.length;
  }
  from.push(at);
  return { folded, from };
}

const isLetter = (character: string): boolean => character !== '' && LETTER.test(character);

const characterAt = (text: string, at: number): string => {
  const code = text.codePointAt(at);
  return code === undefined ? '' : String.fromCodePoint(code);
};

const characterBefore = (text: string, at: number): string =>
  Array.from(text.slice(Math.max(0, at - 2), at)).at(-1) ?? '';

/** At most so many letters in a row. */
function lettersAt(text: string, at: number, max: number): string {
  let letters = '';
  for (let count = 0; count < max; count++) {
    const next = characterAt(text, at + letters.length);
    if (!isLetter(next)) break;
    letters += next;
  }
  return letters;
}
