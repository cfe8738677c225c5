import { visibleText } from '../../lib/visible-text.ts';

/** A piece of a paragraph: text, or a mark that cites a source. */
export type ReportPiece =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'mark'; readonly index: number };

export type ReportBlock =
  /** 2: a section; 3 and 4: within it. */
  | { readonly type: 'heading'; readonly level: 2 | 3 | 4; readonly text: string }
  | { readonly type: 'paragraph'; readonly pieces: readonly ReportPiece[] }
  /** What the report says of itself: a paragraph that stands in italics as a whole. */
  | { readonly type: 'remark'; readonly text: string };

export interface ParsedReport {
  /** The report's own, where it begins with one; else undefined. */
  readonly title: string | undefined;
  readonly blocks: readonly ReportBlock[];
}

const HEADING = /^(#{1,4})[ \t]+(\S.*)$/;
const REMARK = /^\*([^*\s](?:[^*]*[^*\s])?)\*$/;
const MARK = /\[\[(\d{1,6})\]\]/g;

/** Headings, paragraphs, marks and remarks are all that a report has: whatever else looks like markup is text. */
export function parseReport(report: string): ParsedReport {
  const lines = visibleText(report)
    .split('\n')
    .map((line) => line.trim())
    // Of a heading without words nothing is left.
    .map((line) => (/^#{1,4}$/.test(line) ? '' : line));
  const levels = lines.flatMap((line) => HEADING.exec(line)?.[1]?.length ?? []);
  const first = HEADING.exec(lines.find((line) => line !== '') ?? '');
  const hasTitle = first?.[1] === '#' && !levels.slice(1).includes(1);
  const shift = 2 - Math.min(2, ...(hasTitle ? levels.slice(1) : levels));

  const blocks: ReportBlock[] = [];
  let paragraph: string[] = [];
  const endParagraph = (): void => {
    if (paragraph.length > 0) blocks.push(paragraphOf(paragraph.join(' ')));
    paragraph = [];
  };
  for (const line of lines) {
    const heading = HEADING.exec(line);
    if (line === '' || heading) endParagraph();
    if (heading)
      blocks.push({ type: 'heading', level: levelOf((heading[1] ?? '').length + shift), text: titleOf(heading) });
    else if (line !== '') paragraph.push(line);
  }
  endParagraph();
  return hasTitle ? { title: titleOf(first), blocks: blocks.slice(1) } : { title: undefined, blocks };
}

/** Without marks: a heading cites nothing. */
const titleOf = (heading: RegExpExecArray): string =>
  (heading[2] ?? '')
    .replaceAll(MARK, '')
    .replace(/\s+#+$/, '')
    .trim();

const levelOf = (level: number): 2 | 3 | 4 => (level <= 2 ? 2 : level === 3 ? 3 : 4);

function paragraphOf(text: string): ReportBlock {
  const remark = REMARK.exec(text)?.[1];
  return remark === undefined ? { type: 'paragraph', pieces: piecesOf(text) } : { type: 'remark', text: remark };
}

function piecesOf(paragraph: string): readonly ReportPiece[] {
  const pieces: ReportPiece[] = [];
  let at = 0;
  for (const mark of paragraph.matchAll(MARK)) {
    if (mark.index > at) pieces.push({ type: 'text', text: paragraph.slice(at, mark.index) });
    pieces.push({ type: 'mark', index: Number(mark[1]) });
    at = mark.index + mark[0].length;
  }
  if (at < paragraph.length) pieces.push({ type: 'text', text: paragraph.slice(at) });
  return pieces;
}
