import type { Citation } from '../../../core/server-tools.ts';

/** A piece of a text that ends where a sentence does that rests on something, or where the text does. */
export interface CitedPiece {
  readonly text: string;
  readonly citations: readonly Citation[];
}

/**
 * On this interface a citation has no place inside its block: it stands for the whole, so a block ends with the sentence that
 * cites. What comes before that sentence may be in the block too.
 *
 * @param text A text, or what is new of it.
 * @param before Code points of the text before it.
 */
export function citedPieces(text: string, citations: readonly Citation[], before = 0): readonly CitedPiece[] {
  if (citations.length === 0) return text === '' ? [] : [{ text, citations: [] }];
  const points = Array.from(text);
  const pieces: CitedPiece[] = [];
  let from = 0;
  for (const end of new Set(citations.map((each) => each.end).toSorted((a, b) => a - b))) {
    const to = Math.min(Math.max(from, end - before), points.length);
    pieces.push({
      text: points.slice(from, to).join(''),
      citations: citations.filter((each) => each.end === end),
    });
    from = to;
  }
  if (from < points.length) pieces.push({ text: points.slice(from).join(''), citations: [] });
  return pieces;
}
