import { INDEX_PASSAGE_CHARS_MAX } from './limits.ts';

/** A passage and its number: the passages of a document have consecutive numbers. */
export interface NumberedPassage {
  readonly passage: number;
  readonly text: string;
}

/** Stands for the text between two passages that do not follow each other. */
const GAP = '\n\n…\n\n';

/**
 * Joins passages of one document in the order of its text, without the repetitions at their borders.
 *
 * @returns at most `charsMax` characters.
 */
export function joinPassages(passages: readonly NumberedPassage[], charsMax: number): string {
  let text = '';
  let previous: number | undefined;
  for (const { passage, text: next } of passages.toSorted((one, other) => one.passage - other.passage)) {
    if (text.length >= charsMax) break;
    if (previous === undefined) text = next;
    else if (passage === previous + 1) text += joinNext(text, next);
    else text += `${GAP}${next}`;
    previous = passage;
  }
  return text.slice(0, charsMax).toWellFormed();
}

/** Returns what the next passage adds to the text before it: not the heading and the sentence that it repeats. */
function joinNext(before: string, next: string): string {
  const heading = /^#{1,6} .*\n/.exec(next)?.[0] ?? '';
  const body = heading !== '' && `\n${before}\n`.includes(`\n${heading}`) ? next.slice(heading.length) : next;
  const overlap = measureOverlap(before, body);
  return `${overlap > 0 ? '' : '\n\n'}${body.slice(overlap)}`;
}

/** Counts the characters at the end of one text that start the other. A match of a few letters is ignored as chance. */
function measureOverlap(before: string, after: string): number {
  for (let length = Math.min(INDEX_PASSAGE_CHARS_MAX / 4, after.length - 1); length >= OVERLAP_CHARS_MIN; length--)
    if (before.endsWith(after.slice(0, length)) && !/\w/.test(after.charAt(length))) return length;
  return 0;
}

const OVERLAP_CHARS_MIN = 8;
