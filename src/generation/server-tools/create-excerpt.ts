import { readClaims, readVocabulary } from '../citations/claims.ts';

/**
 * Shortens a passage to `charactersMax`: the parts that say most about the question, in text order. Words of the question
 * count the more, the fewer parts have them; a part also gains from its neighbors, because an answer often follows the
 * words of the question. Without any such word, it is the beginning.
 */
export function createExcerpt(passage: string, question: string, charactersMax: number): string {
  const text = passage.trim();
  if (text.length <= charactersMax) return text;
  const parts = splitParts(text.slice(0, EXCERPT_SOURCE_CHARS_MAX));
  const scores = scoreParts(parts, question);
  const ranked = parts.map((part, at) => {
    const around = Math.max(SHARE_AFTER * (scores[at - 1] ?? 0), SHARE_BEFORE * (scores[at + 1] ?? 0));
    return { part, at, score: (scores[at] ?? 0) + around };
  });
  const chosen: typeof ranked = [];
  let left = charactersMax;
  for (const candidate of ranked.toSorted((a, b) => b.score - a.score || a.at - b.at)) {
    const length = candidate.part.length + PART_SEPARATOR.length;
    if (length > left) continue;
    chosen.push(candidate);
    left -= length;
  }
  if (chosen.length === 0) return text.slice(0, charactersMax).toWellFormed();
  return chosen
    .toSorted((a, b) => a.at - b.at)
    .map(
      ({ part, at }, i) =>
        (i > 0 && chosen.some((other) => other.at === at - 1) ? ' ' : i > 0 ? PART_SEPARATOR : '') + part,
    )
    .join('');
}

/** Shares of a part's score that the part after it and the part before it gain. */
const SHARE_AFTER = 0.5;
const SHARE_BEFORE = 0.25;

const PART_SEPARATOR = ' … ';

/** Characters of a passage that are searched for excerpts. */
const EXCERPT_SOURCE_CHARS_MAX = 60_000;

/** Approximate characters of a part. */
const PART_CHARS = 300;

/** Scores each part by the words and numbers of the question in it, weighted by how few parts have them. */
function scoreParts(parts: readonly string[], question: string): readonly number[] {
  const { words, numbers } = readClaims(question);
  const wanted = [...words, ...numbers];
  const found = parts.map((part) => {
    const vocabulary = readVocabulary(part);
    return wanted.filter((word) => vocabulary.words.has(word) || vocabulary.numbers.has(word));
  });
  const counts = new Map<string, number>();
  for (const word of found.flat()) counts.set(word, (counts.get(word) ?? 0) + 1);
  return found.map((each) => each.reduce((sum, word) => sum + Math.log(1 + parts.length / (counts.get(word) ?? 1)), 0));
}

function splitParts(text: string): string[] {
  const segmenter = new Intl.Segmenter('und', { granularity: 'sentence' });
  const parts: string[] = [];
  let part = '';
  for (const { segment } of segmenter.segment(text)) {
    if (part !== '' && part.length + segment.length > PART_CHARS) {
      parts.push(part.trim());
      part = '';
    }
    part += segment.slice(0, 2 * PART_CHARS);
  }
  return [...parts, part.trim()].filter((each) => each !== '');
}
