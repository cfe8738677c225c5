import type { HeardWord, ReadingWish, WordFilter } from '../core/speech.ts';

/** Sounds that say nothing, in the languages that are asked for most. What is a word somewhere is not among them. */
const FILLERS: ReadonlySet<string> = new Set([
  'um',
  'umm',
  'uh',
  'uhm',
  'hmm',
  'erm',
  'äh',
  'ähm',
  'öhm',
  'euh',
  'ehm',
  '嗯',
  '呃',
  '唔',
  'えーと',
  'えっと',
  'あのー',
  '음',
  '어',
]);

/** Characters that a word is compared by. */
const plain = (text: string): string => text.normalize('NFKC').toLowerCase().trim();

/** What a caller wants to read of what was heard. Words of a filter may be several words of the text. */
export function cleanWords(words: readonly HeardWord[], rules: ReadingWish): readonly HeardWord[] {
  const spoken = rules.dropsFillers ? words.filter(({ text }) => !FILLERS.has(plain(text))) : words;
  const filtered = rules.filter ? filterWords(spoken, rules.filter) : spoken;
  return rules.dropsPunctuation ? filtered.map(withoutPunctuation) : filtered;
}

/** A blank keeps the words apart. */
const withoutPunctuation = (word: HeardWord): HeardWord => ({
  ...word,
  punctuation: '',
  text: /\s$/.test(word.punctuation) && !/\s$/.test(word.text) ? `${word.text} ` : word.text,
});

function filterWords(words: readonly HeardWord[], filter: WordFilter): readonly HeardWord[] {
  const dropped = unwantedOf(filter.dropped);
  const starred = unwantedOf(filter.starred);
  const out: HeardWord[] = [];
  for (let at = 0; at < words.length;) {
    const drops = longestMatch(words, at, dropped);
    const stars = drops > 0 ? 0 : longestMatch(words, at, starred);
    for (const word of words.slice(at, at + stars)) out.push({ ...word, text: word.text.replace(/\S/gu, '*') });
    const word = words[at];
    if (word && drops + stars === 0) out.push(word);
    at += Math.max(1, drops + stars);
  }
  return out;
}

interface Unwanted {
  readonly texts: ReadonlySet<string>;
  /** Of the longest. */
  readonly chars: number;
}

function unwantedOf(list: readonly string[]): Unwanted {
  const texts = new Set(list.map(plain).filter((text) => text !== ''));
  return { texts, chars: Math.max(0, ...Array.from(texts, ({ length }) => length)) };
}

/**
 * How many words from `at` on are one of these together; 0: none. A list may be as long as a request, so that nothing is
 * done for each of it.
 */
function longestMatch(words: readonly HeardWord[], at: number, { texts, chars }: Unwanted): number {
  let longest = 0;
  let joined = '';
  let heard = '';
  // Languages without blanks: a character may be a word.
  for (let end = at; end < words.length && heard.length < chars; end += 1) {
    joined += words[end]?.text ?? '';
    heard = plain(joined);
    if (texts.has(heard)) longest = end + 1 - at;
  }
  return longest;
}
