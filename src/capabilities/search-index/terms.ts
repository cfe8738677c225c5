import { INDEX_TERM_CHARS_MAX } from './limits.ts';

/** A run of letters, combining marks and digits. */
const WORD = /[\p{L}\p{M}\p{N}]+/gu;

/** Scripts without spaces between words, or with spaces only between phrases. */
const UNSPACED_SCRIPT = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}]+/gu;

/** Most texts contain few such characters, and processing them takes several times as long. */
const NON_ASCII = /[^\0-\x7f]/;

/** Accents of Latin, Greek and Cyrillic letters. Marks of other scripts are part of their letters. */
const ACCENTS = /[\u0300-\u036f]/g;

/** Letters that Unicode normalization does not decompose. */
const LETTER_REPLACEMENTS: Readonly<Record<string, string>> = {
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
const REPLACED_LETTER = new RegExp(`[${Object.keys(LETTER_REPLACEMENTS).join('')}]`, 'g');

/**
 * Extracts the terms by which a text is found, in order and with repetitions: words in lower case without accents and
 * without the `s` of an English plural; for Chinese, Japanese and Korean each character and each pair of neighbors.
 */
export const extractTerms = (text: string): string[] =>
  extractWords(text).flatMap((word) => (isUnspaced(word) ? [...word, ...toCharacterPairs(word)] : [word]));

/**
 * Extracts the distinct terms of a question like `extractTerms`, but for unspaced scripts only pairs where there are
 * any, because a single character matches too much.
 */
export function extractQuestionTerms(text: string): string[] {
  const words = extractWords(text).flatMap((word) => {
    if (!isUnspaced(word)) return [word];
    const pairs = toCharacterPairs(word);
    return pairs.length > 0 ? pairs : [word];
  });
  const terms = [...new Set(words)];
  const meaningful = terms.filter((term) => !STOP_WORDS.has(term));
  return meaningful.length > 0 ? meaningful : terms;
}

/** Counts the words of a text; a character of an unspaced script counts as half a word. */
export function countWords(text: string): number {
  let count = 0;
  for (const [run] of text.matchAll(WORD)) {
    if (!NON_ASCII.test(run)) {
      count++;
      continue;
    }
    let unspaced = 0;
    for (const [part] of run.matchAll(UNSPACED_SCRIPT)) unspaced += part.length;
    count += unspaced / 2 + (unspaced < run.length ? 1 : 0);
  }
  return count;
}

function extractWords(text: string): string[] {
  const words: string[] = [];
  for (const [run] of fold(text).matchAll(WORD)) {
    if (!NON_ASCII.test(run)) {
      words.push(stem(run));
      continue;
    }
    let at = 0;
    for (const match of run.matchAll(UNSPACED_SCRIPT)) {
      if (match.index > at) words.push(stem(run.slice(at, match.index)));
      words.push(match[0]);
      at = match.index + match[0].length;
    }
    if (at < run.length) words.push(stem(run.slice(at)));
  }
  return words;
}

const fold = (text: string): string =>
  NON_ASCII.test(text)
    ? text
        .normalize('NFKC')
        .toLowerCase()
        .normalize('NFD')
        .replaceAll(ACCENTS, '')
        .normalize('NFC')
        .replaceAll(REPLACED_LETTER, (letter) => LETTER_REPLACEMENTS[letter] ?? letter)
    : text.toLowerCase();

/** Removes plural endings by Harman's rules. Words that only look like plurals are cut the same way in questions. */
function stem(word: string): string {
  const cut = word.length > INDEX_TERM_CHARS_MAX ? Array.from(word).slice(0, INDEX_TERM_CHARS_MAX).join('') : word;
  if (cut.length < 4 || !cut.endsWith('s')) return cut;
  if (/[^ea]ies$/.test(cut)) return `${cut.slice(0, -3)}y`;
  if (/[^aeo]es$/.test(cut)) return cut.slice(0, -1);
  return /[us]s$/.test(cut) || cut.endsWith('ies') ? cut : cut.slice(0, -1);
}

const isUnspaced = (word: string): boolean => word.search(UNSPACED_SCRIPT) === 0;

function toCharacterPairs(word: string): string[] {
  const characters = Array.from(word);
  return characters.slice(1).map((character, at) => `${characters[at] ?? ''}${character}`);
}

/** English words that occur in every text and would match every text. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about an and any are as at be been but by can could did do does for from had has have he her his how i if in into is it ' +
    'its me my no not of on or our she should so some than that the their them then there these they this to us was we were ' +
    'what when where which who whom whose why will with would you your'
  )
    .split(' ')
    .map(stem),
);
