export interface TextRange {
  readonly start: number;
  /** Position after the last character. */
  readonly end: number;
}

/** Searches wordings in one text. */
export interface WordingSearch {
  /**
   * Finds the wording in any case and spacing, as whole words. Ranges do not overlap.
   *
   * @param mayInflect The last word may have a short ending.
   */
  find(wording: string, options?: { readonly mayInflect?: boolean }): readonly TextRange[];
}

/**
 * Characters of words in scripts where words end at a space. Scripts without spaces, and languages that attach
 * particles and articles to words (Korean, Arabic, Hebrew), are excluded: there a match may start and end anywhere.
 */
const LETTER =
  /[[\p{L}\p{N}\p{M}_]--[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Arabic}\p{scx=Hebrew}]]/v;

/** Letters that an ending may add, and the minimum length of a wording that may take an ending. */
const ENDING_LETTERS_MAX = 2;
const INFLECTED_CHARACTERS_MIN = 4;

/**
 * Avoids a regular expression per wording: it takes milliseconds to compile, and requests have thousands of wordings.
 */
export function createWordingSearch(text: string): WordingSearch {
  const { folded, from } = foldText(text);
  return {
    find(wording, { mayInflect = false } = {}) {
      const normalized = normalizeWording(wording);
      if (normalized === '') return [];
      const endingMax =
        mayInflect && Array.from(normalized).length >= INFLECTED_CHARACTERS_MIN ? ENDING_LETTERS_MAX : 0;
      const isWordFirst = isLetter(getCharacterAt(normalized, 0));
      const isWordLast = isLetter(getCharacterBefore(normalized, normalized.length));
      const ranges: TextRange[] = [];
      let at = folded.indexOf(normalized);
      while (at >= 0) {
        let end = at + normalized.length;
        const ending = isWordLast ? readLetters(folded, end, endingMax + 1) : '';
        const isWhole =
          !(isWordFirst && isLetter(getCharacterBefore(folded, at))) && Array.from(ending).length <= endingMax;
        if (isWhole) {
          end += ending.length;
          ranges.push({ start: from[at] ?? 0, end: from[end] ?? text.length });
        }
        at = folded.indexOf(normalized, isWhole ? end : at + 1);
      }
      return ranges;
    },
  };
}

/** Normalizes a wording: NFC, single spaces, lower case. */
export const normalizeWording = (wording: string): string => foldText(wording.normalize('NFC').trim()).folded;

/** Returns the text in lower case with single spaces, and the original position of each UTF-16 unit and of the end. */
function foldText(text: string): { readonly folded: string; readonly from: readonly number[] } {
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

const getCharacterAt = (text: string, at: number): string => {
  const code = text.codePointAt(at);
  return code === undefined ? '' : String.fromCodePoint(code);
};

const getCharacterBefore = (text: string, at: number): string =>
  Array.from(text.slice(Math.max(0, at - 2), at)).at(-1) ?? '';

/** Reads up to `max` consecutive letters. */
function readLetters(text: string, at: number, max: number): string {
  let letters = '';
  for (let count = 0; count < max; count++) {
    const next = getCharacterAt(text, at + letters.length);
    if (!isLetter(next)) break;
    letters += next;
  }
  return letters;
}
