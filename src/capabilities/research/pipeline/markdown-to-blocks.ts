/** A paragraph or list item on one line, without markup. */
export interface TextBlock {
  readonly text: string;
  /** Texts of the headings above it, the nearest last. A short line of its own counts as a heading. */
  readonly headings: readonly string[];
}

/**
 * Extracts the paragraphs and list items of a Markdown text or an extracted web page. Leaves out headings, code, tables,
 * images and link URLs.
 */
export function markdownToBlocks(text: string): readonly TextBlock[] {
  const blocks: TextBlock[] = [];
  const headings: string[] = [];
  let openLines: string[] = [];
  let isItem = false;
  const setHeading = (heading: string, level: number): void => {
    if (ADMONITION.test(heading) || PLACEHOLDER.test(heading)) return;
    headings.length = Math.min(headings.length, level - 1);
    headings[level - 1] = markdownToLine(heading).replace(/\s*[¶#]$/, '');
  };
  const closeBlock = (): void => {
    const block = markdownToLine(openLines.join(' '));
    if (openLines.length === 1 && !isItem && isHeadingLine(block)) setHeading(block, LINE_HEADING_LEVEL);
    else if (block !== '') blocks.push({ text: block, headings: headings.filter((heading) => heading !== undefined) });
    openLines = [];
    isItem = false;
  };
  const lines = text.replaceAll(/<!--(?:(?!<!--).)*?-->/gs, ' ').split('\n');
  // A text that starts inside code has an odd number of fences; which lines are code is then unknown.
  const isPaired = lines.filter((line) => FENCE.test(line)).length % 2 === 0;
  const isWrapped = lines.every((line) => line.length <= WRAPPED_LINE_CHARS_MAX);
  let isCode = false;
  for (const rawLine of lines) {
    if (FENCE.test(rawLine)) {
      closeBlock();
      isCode = isPaired && !isCode;
      continue;
    }
    if (isCode) continue;
    const line = rawLine.replace(/^\s{0,3}(?:>\s?)+/, '');
    if (UNDERLINE.test(line)) {
      if (openLines.length > 0) setHeading(openLines.join(' '), UNDERLINED_HEADING_LEVEL);
      openLines = [];
      continue;
    }
    if (isNonProse(line, openLines.length > 0)) {
      closeBlock();
      const [start = '', marks = ''] = HEADING_START.exec(line) ?? [];
      if (marks !== '')
        setHeading(
          line
            .slice(start.length)
            .trim()
            .replace(/(?:^|\s)#+$/, ''),
          marks.length,
        );
      continue;
    }
    const item = ITEM.exec(line);
    if (item || startsNewBlock(openLines.at(-1), line, isWrapped)) closeBlock();
    if (item) isItem = true;
    openLines.push(item ? line.slice(item[0].length) : line.trim());
  }
  closeBlock();
  return blocks;
}

const HEADING_START = /^\s*(#{1,6})(?=\s|$)/;
/** Headings of boxes, below which the section goes on. */
const ADMONITION =
  /^\s*(?:note|tip|hint|warning|caution|important|danger|attention|see also|example\s*[\d.]*)s?:?\s*$/i;

/** A placeholder such as `<N>`: the line is code that starts with `#`. */
const PLACEHOLDER = /<\w+>/;

const UNDERLINED_HEADING_LEVEL = 2;
/** A line that serves as a heading is below all marked ones. */
const LINE_HEADING_LEVEL = 7;

/** Lines of a text that is wrapped are not longer; in other texts each line is a paragraph of its own. */
const WRAPPED_LINE_CHARS_MAX = 120;

const isHeadingLine = (line: string): boolean =>
  line.length <= HEADING_LINE_CHARS_MAX &&
  (SIGNATURE.test(line) || (/^[-\p{L}\p{N}]/u.test(line) && !/[.!?:;,。！？：；，…=|{}$]$|[={}<>$]/.test(line)));

/** The signature of a function above its description, such as `gc.collect(generation=2)`. */
const SIGNATURE = /^(?:(?:class|def|async|static) )?[\p{L}_][\p{L}\p{N}_.:]*\([^.;|]*\)[¶#]?$/u;

const HEADING_LINE_CHARS_MAX = 80;

const FENCE = /^\s*(?:>\s*)*(?:[-*+]\s+|\d{1,3}[.)]\s+)?(?:`{3,}|~{3,})/;

/** Underlines the heading before it, or separates parts of a text. */
const UNDERLINE = /^\s*(?:={3,}|-{3,}|\*{3,}|_{3,})\s*$/;

const ITEM = /^\s*(?:[-*+•·‣–]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?/;

function isNonProse(line: string, isInBlock: boolean): boolean {
  if (line.trim() === '') return true;
  if (/^\s*#{1,6}(?:\s|$)/.test(line)) return true;
  if (/^\s*\|/.test(line) || (line.match(/\|/g)?.length ?? 0) > 1) return true;
  if (/^\s*\[[^\]]+\]:\s/.test(line)) return true;
  return !isInBlock && /^(?: {4,}|\t)/.test(line) && !ITEM.test(line);
}

/**
 * A short line without punctuation before a line that starts a sentence is a heading or a menu entry. Text that is not
 * wrapped has a new block in each line; joined, the end of one and the start of the next would read as one sentence.
 */
const startsNewBlock = (last: string | undefined, line: string, isWrapped: boolean): boolean =>
  last !== undefined &&
  /^\s*[\p{Lu}\p{Lo}\p{N}]/u.test(line) &&
  (!isWrapped || (last.length < SHORT_LINE_CHARS && !/[,;，、；\p{Ps}]\s*$/u.test(last)));

const SHORT_LINE_CHARS = 56;

/** Removes Markdown markup, HTML tags and reference marks from a line. */
export function markdownToLine(line: string): string {
  let text = line;
  for (const [pattern, replacement] of MARKUP_REPLACEMENTS) text = text.replaceAll(pattern, replacement);
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** A placeholder such as `<upstream>` is no tag: without it, its sentence would say something else. */
const HTML_TAG =
  /<\/?(?:a|abbr|article|aside|b|big|blockquote|body|br|button|caption|center|cite|code|col|dd|del|details|dfn|div|dl|dt|em|figcaption|figure|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|kbd|label|li|link|main|mark|meta|nav|ol|option|p|path|picture|pre|q|s|samp|script|section|select|small|source|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|tfoot|th|thead|time|title|tr|tt|u|ul|var|video)(?=[\s/>])[^<>]*>/gi;

/**
 * Repetitions inside brackets are bounded. Without bounds, text with many unclosed brackets takes time quadratic in the
 * page's length.
 */
const MARKUP_REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [
    /!\[(?:[^[\]]|\[[^[\]]{0,100}\]){0,400}\](?:\([^()]{0,2000}(?:\([^()]{0,400}\)[^()]{0,400}){0,8}\)|\[[^[\]]{0,400}\])/g,
    '',
  ],
  [/\[\s{0,40}\](?:\([^()]{0,2000}\)|\[[^[\]]{0,400}\])?/g, ''],
  [/\[((?:[^[\]]|\[[^[\]]{0,100}\]){1,400})\]\([^()]{0,2000}(?:\([^()]{0,400}\)[^()]{0,400}){0,8}\)/g, '$1'],
  [/\[([^[\]]{1,400})\]\[[^[\]]{0,400}\]/g, '$1'],
  [/\[\[\d{1,3}\]\]/g, ''],
  [/\[(?:\^[^[\]]{1,100}|\d{1,3}|note \d+|citation needed)\]/gi, ''],
  [/\[([^[\]]+)\]/g, '$1'],
  [HTML_TAG, ''],
  [/<(https?:[^<>\s]+)>/g, '$1'],
  [/(?<!`)`{1,2}([^`]+)`{1,2}(?!`)/g, '$1'],
  [/(\*\*|__)(?=\S)(.{1,400}?)(?<=\S)\1/g, '$2'],
  [/(?<![\w*])\*(?=\S)([^*]+)(?<=\S)\*(?![\w*])/g, '$1'],
  [/(?<!\w)_(?=\S)([^_]+)(?<=\S)_(?!\w)/g, '$1'],
  [/~~([^~]+)~~/g, '$1'],
  [/\\([\\`*_{}[\]()#+.!~>-])/g, '$1'],
  [/&nbsp;/g, ' '],
  [/&(?:quot|#34);/g, '"'],
  [/&(?:apos|#39);/g, "'"],
  [/&amp;/g, '&'],
  [/^\s*(?:[\p{Extended_Pictographic}\u{fe0f}\u{200d}]+(?<!\p{N})\s*)+/gu, ''],
  [/(?<! ) +(?=[.,;:!?)](?:\s|$))/g, ''],
];
