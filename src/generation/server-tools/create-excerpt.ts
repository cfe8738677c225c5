import { readClaims, readVocabulary } from '../citations/claims.ts';

/**
 * Shortens a passage to `charactersMax`: its beginning, and the parts with the most words of the question, in text
 * order.
 */
export function createExcerpt(passage: string, question: string, charactersMax: number): string {
  const text = passage.trim();
  if (text.length <= charactersMax) return text;
  const questionClaims = readClaims(question);
  const parts = splitParts(text.slice(0, EXCERPT_SOURCE_CHARS_MAX));
  const ranked = parts.map((part, at) => ({ part, at, score: at === 0 ? Infinity : scorePart(part, questionClaims) }));
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

const PART_SEPARATOR = ' … ';

/** Characters of a passage that are searched for excerpts. */
const EXCERPT_SOURCE_CHARS_MAX = 60_000;

/** Approximate characters of a part. */
const PART_CHARS = 300;

function scorePart(part: string, questionClaims: ReturnType<typeof readClaims>): number {
  const { words, numbers } = readVocabulary(part);
  return questionClaims.words.intersection(words).size + questionClaims.numbers.intersection(numbers).size;
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
