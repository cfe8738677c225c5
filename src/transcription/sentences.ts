import type { HeardWord, Sentence } from '../core/speech.ts';

/** What ends a sentence, whatever closes behind it. */
const END = /[.!?…。！？]['"”’»)\]）」』]*\s*$/u;

/** A full stop within a number or an abbreviation is followed by no capital. */
const GOES_ON = /^\p{Ll}/u;

interface Said {
  readonly words: readonly HeardWord[];
  readonly language: string;
}

interface SentenceRules {
  /** Silence between two words that ends a sentence, whatever its punctuation, in ms. */
  readonly pauseMs: number;
}

/** What words say, one behind the other. */
export const textOf = (words: readonly HeardWord[]): string =>
  words
    .map(({ text, punctuation }) => text + punctuation)
    .join('')
    .trim();

/** Words as sentences: they end with their punctuation, or with a pause. */
export function sentencesOf({ words, language }: Said, { pauseMs }: SentenceRules): readonly Sentence[] {
  const groups: HeardWord[][] = [];
  for (const word of words) {
    const group = groups.at(-1);
    const before = group?.at(-1);
    if (group && before && !endsBetween(before, word, pauseMs)) group.push(word);
    else groups.push([word]);
  }
  return groups.flatMap((group) => sentenceOf(group, language));
}

/** All words as one sentence; none where they say nothing. */
function sentenceOf(words: readonly HeardWord[], language: string): readonly Sentence[] {
  const [first, last] = [words[0], words.at(-1)];
  const text = textOf(words);
  if (!first || !last || text === '') return [];
  return [{ text, language, beginMs: first.beginMs, endMs: last.endMs, words }];
}

const endsBetween = (before: HeardWord, word: HeardWord, pauseMs: number): boolean =>
  word.beginMs - before.endMs >= pauseMs || (END.test(before.text + before.punctuation) && !GOES_ON.test(word.text));
