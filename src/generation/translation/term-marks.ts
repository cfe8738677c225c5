import type { Language } from './languages.ts';
import type { FoundTerm } from './terms.ts';
import { wordingPattern } from './terms.ts';

/** The text with the wanted wording behind each place of each term: "the park (Stadtgarten)". */
export const withWordings = (text: string, terms: readonly FoundTerm[]): string =>
  rewrite(text, terms, (found, { target }) => `${found} (${target})`);

/** The text with the wanted wording in each place of each term: "the Stadtgarten". */
export const withTermsReplaced = (text: string, terms: readonly FoundTerm[]): string =>
  rewrite(text, terms, (_, { target }) => target);

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
    const bracketed = new RegExp(
      String.raw`(?<blank>\s?)[\(（]\s*(?<wording>${wordingPattern(target, '', { mayInflect: true }).source})\s*[\)）]`,
      'giv',
    );
    text = replaceBrackets(text, bracketed, (before) => {
      const whole = [target, source].find((wording) => endsIn(before, wording));
      const words = hasSpaces ? source.split(' ').length : 1;
      return before.length - (whole === undefined ? lastWords(before, words, code) : lengthAtEnd(before, whole));
    });
    // The other way round: the wanted wording, and the source's or itself in brackets behind it.
    const behind = new RegExp(
      String.raw`(${wordingPattern(target, '', { mayInflect: true }).source})\s?[\(（]\s*(?:${wordingPattern(source, '').source})\s*[\)）]`,
      'giv',
    );
    text = text.replaceAll(behind, (_, wording: string) => wording);
  }
  return text;
}

/** Puts what stands in the brackets in the place of them and of what stands before them from `from` on. */
function replaceBrackets(text: string, pattern: RegExp, from: (before: string) => number): string {
  let result = '';
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    const before = result + text.slice(at, match.index);
    const kept = before.slice(0, from(before));
    const blank = kept === before ? match.groups?.['blank'] : '';
    result = `${kept}${blank ?? ''}${match.groups?.['wording'] ?? ''}`;
    at = match.index + match[0].length;
  }
  return result + text.slice(at);
}

const endsIn = (text: string, wording: string): boolean => lengthAtEnd(text, wording) > 0;

function lengthAtEnd(text: string, wording: string): number {
  const places = Array.from(text.matchAll(wordingPattern(wording, 'g', { mayInflect: true })));
  const last = places.at(-1);
  return last && last.index + last[0].length === text.length ? last[0].length : 0;
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
