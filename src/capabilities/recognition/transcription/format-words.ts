import type { RecognizedWord, TranscriptFormatOptions, WordFilter } from '../../../core/speech.ts';

/** Hesitation sounds of the most requested languages. Words of another language are excluded. */
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

/** Normalizes a word for comparison. */
const normalizeWord = (text: string): string => text.normalize('NFKC').toLowerCase().trim();

/** Applies the format options of a caller. A term of the filter may consist of several words. */
export function formatWords(
  words: readonly RecognizedWord[],
  options: TranscriptFormatOptions,
): readonly RecognizedWord[] {
  const withoutFillers = options.dropsFillers ? words.filter(({ text }) => !FILLERS.has(normalizeWord(text))) : words;
  const filtered = options.filter ? filterWords(withoutFillers, options.filter) : withoutFillers;
  return options.dropsPunctuation ? filtered.map(removePunctuation) : filtered;
}

/** Replaces the punctuation by nothing, and keeps a space between words. */
const removePunctuation = (word: RecognizedWord): RecognizedWord => ({
  ...word,
  punctuation: '',
  text: /\s$/.test(word.punctuation) && !/\s$/.test(word.text) ? `${word.text} ` : word.text,
});

function filterWords(words: readonly RecognizedWord[], filter: WordFilter): readonly RecognizedWord[] {
  const dropped = createTermSet(filter.dropped);
  const starred = createTermSet(filter.starred);
  const out: RecognizedWord[] = [];
  for (let at = 0; at < words.length;) {
    const droppedCount = countMatchingWords(words, at, dropped);
    const starredCount = droppedCount > 0 ? 0 : countMatchingWords(words, at, starred);
    for (const word of words.slice(at, at + starredCount)) out.push({ ...word, text: word.text.replace(/\S/gu, '*') });
    const word = words[at];
    if (word && droppedCount + starredCount === 0) out.push(word);
    at += Math.max(1, droppedCount + starredCount);
  }
  return out;
}

interface TermSet {
  readonly texts: ReadonlySet<string>;
  /** Length of the longest term. */
  readonly charsMax: number;
}

function createTermSet(list: readonly string[]): TermSet {
  const texts = new Set(list.map(normalizeWord).filter((text) => text !== ''));
  return { texts, charsMax: Math.max(0, ...Array.from(texts, ({ length }) => length)) };
}

/**
 * Returns how many words from index `at` on match a term, or 0. Does not loop over the terms, because the list may be
 * as long as a request.
 */
function countMatchingWords(words: readonly RecognizedWord[], at: number, { texts, charsMax }: TermSet): number {
  let longest = 0;
  let joined = '';
  let normalized = '';
  // In scripts without spaces, a character may be a word.
  for (let end = at; end < words.length && normalized.length < charsMax; end += 1) {
    joined += words[end]?.text ?? '';
    normalized = normalizeWord(joined);
    if (texts.has(normalized)) longest = end + 1 - at;
  }
  return longest;
}
