import { claimsOf, vocabularyOf } from '../citations/claims.ts';

/**
 * As much of a passage as there is room for: its beginning, and of what follows the parts that have most words of the
 * question, in their order.
 */
export function excerpt(passage: string, question: string, charactersMax: number): string {
  const text = passage.trim();
  if (text.length <= charactersMax) return text;
  const asked = claimsOf(question);
  const parts = partsOf(text.slice(0, EXCERPT_SOURCE_CHARS_MAX));
  const ranked = parts.map((part, at) => ({ part, at, score: at === 0 ? Infinity : scoreOf(part, asked) }));
  const chosen: typeof ranked = [];
  let left = charactersMax;
  for (const each of ranked.toSorted((a, b) => b.score - a.score || a.at - b.at)) {
    const length = each.part.length + JOIN.length;
    if (length > left) continue;
    chosen.push(each);
    left -= length;
  }
  if (chosen.length === 0) return text.slice(0, charactersMax).toWellFormed();
  return chosen
    .toSorted((a, b) => a.at - b.at)
    .map(({ part, at }, i) => (i > 0 && chosen.some((other) => other.at === at - 1) ? ' ' : i > 0 ? JOIN : '') + part)
    .join('');
}

const JOIN = ' … ';

/** Ours: characters of a page that are looked through for what a prompt is to hold of it. */
const EXCERPT_SOURCE_CHARS_MAX = 60_000;

/** Ours: a part has about so many characters. */
const PART_CHARS = 300;

function scoreOf(part: string, asked: ReturnType<typeof claimsOf>): number {
  const { words, numbers } = vocabularyOf(part);
  return asked.words.intersection(words).size + asked.numbers.intersection(numbers).size;
}

function partsOf(text: string): string[] {
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
