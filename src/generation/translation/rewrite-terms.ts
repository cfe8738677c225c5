import type { Language } from './languages.ts';
import { MARK, formatNumberMark } from './marks.ts';
import type { TermOccurrence } from './terms.ts';
import { normalizeWording, createWordingSearch } from './wording-search.ts';

/** Adds the required wording after each occurrence of each term: "the park (Stadtgarten)". */
export const appendWordings = (text: string, terms: readonly TermOccurrence[]): string =>
  rewriteTerms(text, terms, (found, { target }) => `${found} (${target})`);

/** Replaces each occurrence of each term by the required wording: "the Stadtgarten". */
export const replaceTerms = (text: string, terms: readonly TermOccurrence[]): string =>
  rewriteTerms(text, terms, (_, { target }) => target);

/**
 * Replaces each occurrence of each term by a mark numbered from `from` + 1, which hides the foreign word from the
 * model.
 */
export const markTerms = (text: string, terms: readonly TermOccurrence[], from: number): string =>
  rewriteTerms(text, terms, (_, term) => formatNumberMark(from + 1 + terms.indexOf(term)));

/** Replaces the marks of `markTerms` in a translation by the required wordings. */
export const restoreTermMarks = (translated: string, terms: readonly TermOccurrence[], from: number): string =>
  translated.replaceAll(MARK, (mark, number: string) => terms[Number(number) - from - 1]?.target ?? mark);

function rewriteTerms(
  text: string,
  terms: readonly TermOccurrence[],
  createReplacement: (found: string, term: TermOccurrence) => string,
): string {
  const occurrences = terms
    .flatMap((term) => term.ranges.map((range) => ({ ...range, term })))
    .toSorted((one, other) => one.start - other.start);
  let rewritten = '';
  let at = 0;
  for (const { start, end, term } of occurrences) {
    rewritten += text.slice(at, start) + createReplacement(text.slice(start, end), term);
    at = end;
  }
  return rewritten + text.slice(at);
}

/**
 * Removes duplicates from a translation of `appendWordings`: "dem Park (Stadtgarten)" becomes "dem Stadtgarten". The
 * text before the brackets is the model's own translation of the term; as many of its words are removed as the term
 * has.
 */
export function removeDuplicateWordings(
  translated: string,
  terms: readonly TermOccurrence[],
  { code, hasSpaces }: Language,
): string {
  let text = translated;
  for (const { source, target } of terms) {
    const words = hasSpaces ? source.split(' ').length : 1;
    const getDuplicateLength = (before: string): number =>
      getLengthAtEnd(before, target) || getLengthAtEnd(before, source) || getLastWordsLength(before, words, code);
    // Backwards, so that earlier positions stay valid.
    for (const { start, end } of createWordingSearch(text).find(target, WITH_INFLECTION).toReversed()) {
      const wording = text.slice(start, end);
      const before = text.slice(0, start);
      const after = text.slice(end);
      const open = BRACKET_BEFORE.exec(before);
      const close = BRACKET_AFTER.exec(after);
      if (open && close) {
        const outside = before.slice(0, open.index);
        const length = getDuplicateLength(outside);
        const remaining =
          length > 0 ? outside.slice(0, -length) : before.slice(0, open.index) + (open.groups?.['blank'] ?? '');
        text = remaining + wording + after.slice(close[0].length);
        continue;
      }
      // The reverse order: the source term in brackets after the required wording.
      const inBrackets = /^\s?[\(（]([^\(\)（）]*)[\)）]/v.exec(after);
      if (inBrackets && normalizeWording(inBrackets[1] ?? '') === normalizeWording(source))
        text = before + wording + after.slice(inBrackets[0].length);
    }
  }
  return text;
}

const WITH_INFLECTION = { mayInflect: true } as const;

const BRACKET_BEFORE = /(?<blank>\s?)[\(（]\s*$/v;
const BRACKET_AFTER = /^\s*[\)）]/v;

/** Length of the wording at the end of the text; 0 when the text does not end with it. */
function getLengthAtEnd(text: string, wording: string): number {
  const last = createWordingSearch(text).find(wording, WITH_INFLECTION).at(-1);
  return last?.end === text.length ? last.end - last.start : 0;
}

/** Characters at the end of a text in which its last words are searched. */
const LAST_WORDS_CHARACTERS = 200;

/** Length of the last `count` words with the spaces between them; 0 when the text does not end with a word. */
function getLastWordsLength(text: string, count: number, code: string): number {
  const end = text.slice(-LAST_WORDS_CHARACTERS);
  const segments = [...new Intl.Segmenter(code.split('_')[0], { granularity: 'word' }).segment(end)];
  let words = 0;
  let start = end.length;
  for (const { index, isWordLike, segment } of segments.toReversed()) {
    if (isWordLike) {
      words++;
      start = index;
      if (words === count) break;
    } else if (words === 0 || segment.trim() !== '') break;
  }
  return end.length - start;
}
