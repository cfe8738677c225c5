import type { Citation } from '../../../core/server-tools.ts';

/** A piece of text that ends with a cited sentence, or with the text. */
export interface CitedPiece {
  readonly text: string;
  readonly citations: readonly Citation[];
}

/**
 * Splits a text at its citations: on this interface a citation applies to a whole block, so a block ends with the
 * sentence that cites. Text before that sentence may be in the same block.
 *
 * @param text A text, or its latest part.
 * @param codePointsBefore Number of code points before `text`.
 */
export function splitByCitations(
  text: string,
  citations: readonly Citation[],
  codePointsBefore = 0,
): readonly CitedPiece[] {
  if (citations.length === 0) return text === '' ? [] : [{ text, citations: [] }];
  const codePoints = Array.from(text);
  const pieces: CitedPiece[] = [];
  let from = 0;
  for (const end of new Set(citations.map((each) => each.end).toSorted((a, b) => a - b))) {
    const to = Math.min(Math.max(from, end - codePointsBefore), codePoints.length);
    pieces.push({
      text: codePoints.slice(from, to).join(''),
      citations: citations.filter((each) => each.end === end),
    });
    from = to;
  }
  if (from < codePoints.length) pieces.push({ text: codePoints.slice(from).join(''), citations: [] });
  return pieces;
}
