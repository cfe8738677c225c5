import { INDEX_TERM_CHARS_MAX } from '../../core/limits.ts';

/** Letters, their marks and digits in a row. */
const WORD = /[\p{L}\p{M}\p{N}]+/gu;

/** Writing without blanks between words, or with blanks between whole phrases of them. */
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}]+/gu;

/** Most texts have little of it, and reading it takes several times as long. */
const BEYOND_ASCII = /[^\0-\x7f]/;

/** Accents of Latin, Greek and Cyrillic letters. Marks of other writing are part of its letters. */
const ACCENTS = /[\u0300-\u036f]/g;

/** Letters that no rule of Unicode takes apart. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};
const FOLDED = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'g');

/**
 * What a text is found by, in order and as often as it occurs: words in small letters without accents and without the `s` of
 * an English plural; of Chinese, Japanese and Korean each character and each two that stand side by side.
 */
export const termsOf = (text: string): string[] =>
  wordsOf(text).flatMap((word) => (isUnspaced(word) ? [...word, ...pairsOf(word)] : [word]));

/**
 * What a question asks for, each once: as `termsOf`, but of unspaced writing the pairs alone where there are any. One
 * character says little beside them.
 */
export function questionTermsOf(text: string): string[] {
  const words = wordsOf(text).flatMap((word) => {
    if (!isUnspaced(word)) return [word];
    const pairs = pairsOf(word);
    return pairs.length > 0 ? pairs : [word];
  });
  const terms = [...new Set(words)];
  const telling = terms.filter((term) => !SAYS_NOTHING.has(term));
  return telling.length > 0 ? telling : terms;
}

/** How many words a text has; a character of unspaced writing counts as half of one. */
export function wordCountOf(text: string): number {
  let count = 0;
  for (const [run] of text.matchAll(WORD)) {
    if (!BEYOND_ASCII.test(run)) {
      count++;
      continue;
    }
    let unspaced = 0;
    for (const [part] of run.matchAll(UNSPACED)) unspaced += part.length;
    count += unspaced / 2 + (unspaced < run.length ? 1 : 0);
  }
  return count;
}

function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [run] of fold(text).matchAll(WORD)) {
    if (!BEYOND_ASCII.test(run)) {
      words.push(stem(run));
      continue;
    }
    let at = 0;
    for (const match of run.matchAll(UNSPACED)) {
      if (match.index > at) words.push(stem(run.slice(at, match.index)));
      words.push(match[0]);
      at = match.index + match[0].length;
    }
    if (at < run.length) words.push(stem(run.slice(at)));
  }
  return words;
}

const fold = (text: string): string =>
  BEYOND_ASCII.test(text)
    ? text
        .normalize('NFKC')
        .toLowerCase()
        .normalize('NFD')
        .replaceAll(ACCENTS, '')
        .normalize('NFC')
        .replaceAll(FOLDED, (letter) => LETTERS[letter] ?? letter)
    : text.toLowerCase();

/** Harman's rules for the plural alone: what they take for one and is none, they take so in a question as well. */
function stem(word: string): string {
  const cut = word.length > INDEX_TERM_CHARS_MAX ? Array.from(word).slice(0, INDEX_TERM_CHARS_MAX).join('') : word;
  if (cut.length < 4 || !cut.endsWith('s')) return cut;
  if (/[^ea]ies$/.test(cut)) return `${cut.slice(0, -3)}y`;
  if (/[^aeo]es$/.test(cut)) return cut.slice(0, -1);
  return /[us]s$/.test(cut) || cut.endsWith('ies') ? cut : cut.slice(0, -1);
}

const isUnspaced = (word: string): boolean => word.search(UNSPACED) === 0;

function pairsOf(word: string): string[] {
  const characters = Array.from(word);
  return characters.slice(1).map((character, at) => `${characters[at] ?? ''}${character}`);
}

/** English words that stand in every text. In a question they would bring every text. */
const SAYS_NOTHING: ReadonlySet<string> = new Set(
  (
    'a about an and any are as at be been but by can could did do does for from had has have he her his how i if in into is it ' +
    'its me my no not of on or our she should so some than that the their them then there these they this to us was we were ' +
    'what when where which who whom whose why will with would you your'
  )
    .split(' ')
    .map(stem),
);
