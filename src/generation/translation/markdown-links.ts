import type { TextRange } from './wording-search.ts';

/** The marks around the text of a Markdown link or image: `[` or `![`, and `](address)` or `][reference]`. */
export interface MarkdownLink {
  readonly open: TextRange;
  readonly close: TextRange;
}

/** Text in code marks is no link. */
const CODE = /`[^`\r\n]+`/g;

/**
 * A link with one level of brackets in its text and one of parentheses in its address. Every repetition is bounded, so
 * that matching takes linear time.
 */
const LINK =
  /(!?\[)((?:[^[\]\r\n]|\[[^[\]\r\n]{0,200}\]){0,400})(\](?:\((?:<[^<>\r\n]{1,1000}>|(?:[^\s()]|\([^\s()]{0,200}\)){1,1000})(?:[ \t]+(?:"[^"\r\n]{0,300}"|'[^'\r\n]{0,300}'))?[ \t]*\)|\[[^[\]\r\n]{1,200}\]))/g;

/** Finds the links of a text; an image in the text of a link follows that link. */
export function findMarkdownLinks(text: string): readonly MarkdownLink[] {
  const codes = Array.from(text.matchAll(CODE), ({ index, 0: { length } }) => ({ start: index, end: index + length }));
  const isInCode = (position: number): boolean => {
    // Only the last code that starts before the position can reach it.
    const next = findFirstFrom(codes, position);
    return position < (codes[next - 1]?.end ?? 0);
  };
  return findLinks(text, 0).filter(({ open, close }) => !isInCode(open.end) && !isInCode(close.start + 1));
}

/** Returns the index of the first range that starts at a position or later. */
function findFirstFrom(ranges: readonly TextRange[], position: number): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle]?.start ?? 0) < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

function findLinks(text: string, offset: number): readonly MarkdownLink[] {
  return Array.from(text.matchAll(LINK)).flatMap(({ index, 1: open = '', 2: inner = '', 3: close = '' }) => {
    const start = offset + index;
    const innerStart = start + open.length;
    const innerEnd = innerStart + inner.length;
    return [
      { open: { start, end: innerStart }, close: { start: innerEnd, end: innerEnd + close.length } },
      ...(inner.includes('](') || inner.includes('][') ? findLinks(inner, innerStart) : []),
    ];
  });
}
