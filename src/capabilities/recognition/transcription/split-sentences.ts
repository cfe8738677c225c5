import type { RecognizedWord, TranscriptSentence } from '../../../core/speech.ts';

/** Punctuation that ends a sentence, with closing quotes or brackets. */
const SENTENCE_END = /[.!?…。！？]['"”’»)\]）」』]*\s*$/u;

/** A lowercase letter after a full stop means that it belongs to an abbreviation or number. */
const LOWERCASE_START = /^\p{Ll}/u;

interface WordSequence {
  readonly words: readonly RecognizedWord[];
  readonly language: string;
}

interface SplitSentencesOptions {
  /** Silence between two words that ends a sentence, in ms. */
  readonly pauseMs: number;
}

/** Joins words to a text. */
export const joinWords = (words: readonly RecognizedWord[]): string =>
  words
    .map(({ text, punctuation }) => text + punctuation)
    .join('')
    .trim();

/** Splits words into sentences: at punctuation and at pauses. */
export function splitTranscript(
  { words, language }: WordSequence,
  { pauseMs }: SplitSentencesOptions,
): readonly TranscriptSentence[] {
  const groups: RecognizedWord[][] = [];
  for (const word of words) {
    const group = groups.at(-1);
    const before = group?.at(-1);
    if (group && before && !isSentenceBreak(before, word, pauseMs)) group.push(word);
    else groups.push([word]);
  }
  return groups.flatMap((group) => createSentence(group, language));
}

/** Creates a sentence of all words, or none if they have no text. */
function createSentence(words: readonly RecognizedWord[], language: string): readonly TranscriptSentence[] {
  const [first, last] = [words[0], words.at(-1)];
  const text = joinWords(words);
  if (!first || !last || text === '') return [];
  return [{ text, language, beginMs: first.beginMs, endMs: last.endMs, words }];
}

const isSentenceBreak = (before: RecognizedWord, word: RecognizedWord, pauseMs: number): boolean =>
  word.beginMs - before.endMs >= pauseMs ||
  (SENTENCE_END.test(before.text + before.punctuation) && !LOWERCASE_START.test(word.text));
