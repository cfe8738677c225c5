import type { Language } from './languages.ts';
import { MARK, markOf } from './marks.ts';
import type { FoundTerm } from './terms.ts';
import { foldedWording, searchIn } from './wording-search.ts';

/** The text with the wanted wording behind each place of each term: "the park (Stadtgarten)". */
export const withWordings = (text: string, terms: readonly FoundTerm[]): string =>
  rewrite(text, terms, (found, { target }) => `${found} (${target})`);

/** The text with the wanted wording in each place of each term: "the Stadtgarten". */
export const withTermsReplaced = (text: string, terms: readonly FoundTerm[]): string =>
  rewrite(text, terms, (_, { target }) => target);

/** The text with a mark in each place of each term, numbered from behind `from`; the model sees no foreign word. */
export const withTermsMarked = (text: string, terms: readonly FoundTerm[], from: number): string =>
  rewrite(text, terms, (_, term) => markOf(from + 1 + terms.indexOf(term)));

/** A translation of `withTermsMarked` with the wanted wordings in the places of their marks. */
export const withMarksWorded = (translated: string, terms: readonly FoundTerm[], from: number): string =>
  translated.replaceAll(MARK, (mark, number: string) => terms[Number(number) - from - 1]?.target ?? mark);

function rewrite(text: string, terms: readonly FoundTerm[], put: (found: string, term: FoundTerm) => string): string {
  const places = terms
    .flatMap((term) => term.places.map((place) => ({ ...place, term })))
    .toSorted((one, other) => one.start - other.start);
  let rewritten = '';
  let at = 0;
  for (const { start, end, term } of places) {
    rewritten += text.slice(at, start) + put(text.slice(start, end), term);
    at = end;
  }
  return rewritten + text.slice(at);
}

/**
 * A translation of `withWordings` without what it says twice: "dem Park (Stadtgarten)" becomes "dem Stadtgarten". What
 * stands before the brackets is the term as the model translated it; as many words of it go as the term has.
 */
export function withoutDoubling(
  translated: string,
  terms: readonly FoundTerm[],
  { code, hasSpaces }: Language,
): string {
  let text = translated;
  for (const { source, target } of terms) {
    const words = hasSpaces ? source.split(' ').length : 1;
    const doubleLength = (before: string): number =>
      lengthAtEnd(before, target) || lengthAtEnd(before, source) || lastWords(before, words, code);
    // From the end, so that the places before stay right.
    for (const { start, end } of searchIn(text).places(target, SHOWN).toReversed()) {
      const wording = text.slice(start, end);
      const before = text.slice(0, start);
      const behind = text.slice(end);
      const open = BRACKET_BEFORE.exec(before);
      const close = BRACKET_BEHIND.exec(behind);
      if (open && close) {
        const said = before.slice(0, open.index);
        const length = doubleLength(said);
        const kept = length > 0 ? said.slice(0, -length) : before.slice(0, open.index) + (open.groups?.['blank'] ?? '');
        text = kept + wording + behind.slice(close[0].length);
        continue;
      }
      // The other way round: the source's wording in brackets behind the wanted one.
      const inBrackets = /^\s?[\(（]([^\(\)（）]*)[\)）]/v.exec(behind);
      if (inBrackets && foldedWording(inBrackets[1] ?? '') === foldedWording(source))
        text = before + wording + behind.slice(inBrackets[0].length);
    }
  }
  return text;
}

const SHOWN = { mayInflect: true } as const;

const BRACKET_BEFORE = /(?<blank>\s?)[\(（]\s*$/v;
const BRACKET_BEHIND = /^\s*[\)）]/v;

/** 0 where the text does not end in the wording. */
function lengthAtEnd(text: string, wording: string): number {
  const last = searchIn(text).places(wording, SHOWN).at(-1);
  return last?.end === text.length ? last.end - last.start : 0;
}

/** Ours: characters at the end of a text in which its last words are looked for. */
const LAST_WORDS_CHARACTERS = 200;

/** Characters that the last words take, with the blanks between them; 0 where no word stands at the end. */
function lastWords(text: string, count: number, code: string): number {
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
