import { removeInvisibleCharacters } from '../../../lib/remove-invisible-characters.ts';

/** A piece of a paragraph: text, or a mark that cites a source. */
export type ReportPiece =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'mark'; readonly index: number };

export type ReportBlock =
  /** Level 2 is a section; 3 and 4 are its subsections. */
  | { readonly type: 'heading'; readonly level: 2 | 3 | 4; readonly text: string }
  | { readonly type: 'paragraph'; readonly pieces: readonly ReportPiece[] }
  /** A note of the report about itself: a paragraph that is completely in italics. */
  | { readonly type: 'remark'; readonly text: string };

export interface ParsedReport {
  /** Title of the report; undefined if it does not start with one. */
  readonly title: string | undefined;
  readonly blocks: readonly ReportBlock[];
}

const HEADING = /^(#{1,4})[ \t]+(\S.*)$/;
const REMARK = /^\*([^*\s](?:[^*]*[^*\s])?)\*$/;
const MARK = /\[\[(\d{1,6})\]\]/g;

/** Parses the Markdown of a report: headings, paragraphs, citation marks and remarks. Other Markdown is plain text. */
export function parseResearchReport(report: string): ParsedReport {
  const lines = removeInvisibleCharacters(report)
    .split('\n')
    .map((line) => line.trim())
    // Remove headings without text.
    .map((line) => (/^#{1,4}$/.test(line) ? '' : line));
  const levels = lines.flatMap((line) => HEADING.exec(line)?.[1]?.length ?? []);
  const first = HEADING.exec(lines.find((line) => line !== '') ?? '');
  const hasTitle = first?.[1] === '#' && !levels.slice(1).includes(1);
  const shift = 2 - Math.min(2, ...(hasTitle ? levels.slice(1) : levels));

  const blocks: ReportBlock[] = [];
  let paragraph: string[] = [];
  const endParagraph = (): void => {
    if (paragraph.length > 0) blocks.push(createParagraph(paragraph.join(' ')));
    paragraph = [];
  };
  for (const line of lines) {
    const heading = HEADING.exec(line);
    if (line === '' || heading) endParagraph();
    if (heading)
      blocks.push({
        type: 'heading',
        level: toHeadingLevel((heading[1] ?? '').length + shift),
        text: getHeadingText(heading),
      });
    else if (line !== '') paragraph.push(line);
  }
  endParagraph();
  return hasTitle ? { title: getHeadingText(first), blocks: blocks.slice(1) } : { title: undefined, blocks };
}

/** Removes citation marks and closing `#`. */
const getHeadingText = (heading: RegExpExecArray): string =>
  (heading[2] ?? '')
    .replaceAll(MARK, '')
    .replace(/\s+#+$/, '')
    .trim();

const toHeadingLevel = (level: number): 2 | 3 | 4 => (level <= 2 ? 2 : level === 3 ? 3 : 4);

function createParagraph(text: string): ReportBlock {
  const remark = REMARK.exec(text)?.[1];
  return remark === undefined ? { type: 'paragraph', pieces: splitPieces(text) } : { type: 'remark', text: remark };
}

function splitPieces(paragraph: string): readonly ReportPiece[] {
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
