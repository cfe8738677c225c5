import type { Hotword } from '../../core/speech.ts';
import { computeSoundDistance } from './find-similar-hotwords.ts';
import { findHotwords } from './find-hotwords.ts';
import { splitWords, type TokenizedWord } from './split-words.ts';
import { textToSounds } from './text-to-sounds.ts';

/** Words from `from` to before `to`. */
interface WordRange {
  readonly from: number;
  readonly to: number;
}

/** A part in which two texts differ. */
interface Difference {
  readonly plain: WordRange;
  readonly biased: WordRange;
}

/** The hotwords of a difference, and whether other words of the biased text surround them. */
interface HotwordPart {
  readonly hotwords: readonly TokenizedWord[];
  readonly hasWordsBefore: boolean;
  readonly hasWordsAfter: boolean;
}

/**
 * Takes only the hotwords from a text that was decoded with hotwords; all other words stay as they were decoded without
 * them, because the hotwords before a text change how the model writes the rest of it.
 * @param plain Tokens of the text that was decoded without hotwords.
 * @param biased Tokens of the text that was decoded with hotwords.
 * @returns the tokens of the merged text.
 */
export function mergeHotwords(
  plain: readonly number[],
  biased: readonly number[],
  { hotwords, decode }: { readonly hotwords: readonly Hotword[]; decode(tokens: readonly number[]): string },
): readonly number[] {
  const plainWords = splitWords(plain, decode);
  const biasedWords = splitWords(biased, decode);
  const isHotword = markHotwords(biasedWords, hotwords);
  const merged: (readonly number[])[] = [];
  let next = 0;
  for (const { plain: inPlain, biased: inBiased } of findDifferences(plainWords, biasedWords)) {
    const first = isHotword.indexOf(true, inBiased.from);
    if (first < 0 || first >= inBiased.to) continue;
    const found = { from: first, to: isHotword.lastIndexOf(true, inBiased.to - 1) + 1 };
    const replaced = findSimilarPart(plainWords, inPlain, {
      hotwords: biasedWords.slice(found.from, found.to),
      hasWordsBefore: found.from > inBiased.from,
      hasWordsAfter: found.to < inBiased.to,
    });
    merged.push(getTokens(plain, plainWords, { from: next, to: replaced.from }));
    merged.push(getTokens(biased, biasedWords, found));
    next = replaced.to;
  }
  return [...merged.flat(), ...getTokens(plain, plainWords, { from: next, to: plainWords.length })];
}

/** Returns for each word whether it is a part of a hotword. */
function markHotwords(words: readonly TokenizedWord[], hotwords: readonly Hotword[]): readonly boolean[] {
  const occurrences = findHotwords(words.map(({ text, punctuation }) => text + punctuation).join(''), hotwords);
  let end = 0;
  return words.map(({ text, punctuation }) => {
    const start = end;
    end += text.length + punctuation.length;
    return occurrences.some(({ from, to }) => from < start + text.length && to > start);
  });
}

/** Finds the parts in which the texts differ, apart from case and punctuation: all that is not in both, in order. */
function findDifferences(plain: readonly TokenizedWord[], biased: readonly TokenizedWord[]): readonly Difference[] {
  const [plainKeys, biasedKeys] = [plain, biased].map((words) => words.map(({ text }) => text.trim().toLowerCase()));
  if (!plainKeys || !biasedKeys) return [];
  const lengths = computeCommonLengths(plainKeys, biasedKeys);
  const differences: Difference[] = [];
  let start = { plain: 0, biased: 0 };
  const closeDifference = (at: typeof start): void => {
    if (at.plain > start.plain || at.biased > start.biased)
      differences.push({
        plain: { from: start.plain, to: at.plain },
        biased: { from: start.biased, to: at.biased },
      });
  };
  let [i, j] = [0, 0];
  while (i < plain.length && j < biased.length) {
    if (plainKeys[i] === biasedKeys[j]) {
      closeDifference({ plain: i, biased: j });
      start = { plain: ++i, biased: ++j };
    } else if ((lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0)) i++;
    else j++;
  }
  closeDifference({ plain: plain.length, biased: biased.length });
  return differences;
}

/** Computes the length of the longest common subsequence of the words from each pair of positions on. */
function computeCommonLengths(plain: readonly string[], biased: readonly string[]): readonly Uint16Array[] {
  const lengths = Array.from({ length: plain.length + 1 }, () => new Uint16Array(biased.length + 1));
  for (let i = plain.length - 1; i >= 0; i--)
    for (let j = biased.length - 1; j >= 0; j--) {
      const [row, below] = [lengths[i], lengths[i + 1]];
      if (row && below)
        row[j] = plain[i] === biased[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  return lengths;
}

/**
 * Finds the shortest part of a range that is as similar in sound to the hotwords as the whole range. Words before or
 * after the part stay in the text, which is right only where the biased text has words there, too.
 */
function findSimilarPart(
  words: readonly TokenizedWord[],
  range: WordRange,
  { hotwords, hasWordsBefore, hasWordsAfter }: HotwordPart,
): WordRange {
  const getSounds = (part: readonly TokenizedWord[]): readonly string[] =>
    textToSounds(part.map(({ text, punctuation }) => text + punctuation).join(''));
  const hotwordSounds = getSounds(hotwords);
  const measure = ({ from, to }: WordRange): number =>
    computeSoundDistance(hotwordSounds, getSounds(words.slice(from, to)));
  const best = measure(range);
  const isAsSimilar = (part: WordRange): boolean => part.from < part.to && measure(part) <= best;
  let { from, to } = range;
  while (hasWordsBefore && isAsSimilar({ from: from + 1, to })) from++;
  while (hasWordsAfter && isAsSimilar({ from, to: to - 1 })) to--;
  return { from, to };
}

const getTokens = (
  tokens: readonly number[],
  words: readonly TokenizedWord[],
  { from, to }: WordRange,
): readonly number[] => (from < to ? tokens.slice(words[from]?.from, words[to - 1]?.to) : []);
