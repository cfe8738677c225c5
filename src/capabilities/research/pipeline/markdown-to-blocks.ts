/**
 * Extracts the paragraphs and list items of a Markdown text or an extracted web page, each on one line and without
 * markup. Leaves out headings, code, tables, images and link URLs.
 */
export function markdownToBlocks(text: string): readonly string[] {
  const blocks: string[] = [];
  let openLines: string[] = [];
  const closeBlock = (): void => {
    const block = markdownToLine(openLines.join(' '));
    if (block !== '') blocks.push(block);
    openLines = [];
  };
  const lines = text.replaceAll(/<!--.*?-->/gs, ' ').split('\n');
  // A text that starts inside code has an odd number of fences; which lines are code is then unknown.
  const isPaired = lines.filter((line) => FENCE.test(line)).length % 2 === 0;
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
      openLines = [];
      continue;
    }
    if (isNonProse(line, openLines.length > 0)) {
      closeBlock();
      continue;
    }
    const item = ITEM.exec(line);
    if (item || startsNewBlock(openLines.at(-1), line)) closeBlock();
    openLines.push(item ? line.slice(item[0].length) : line.trim());
  }
  closeBlock();
  return blocks;
}

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

/** A short line without punctuation before a line that starts a sentence is a heading or a menu entry. */
const startsNewBlock = (last: string | undefined, line: string): boolean =>
  last !== undefined &&
  last.length < SHORT_LINE_CHARS &&
  !/[,;，、；\p{Ps}]\s*$/u.test(last) &&
  /^\s*[\p{Lu}\p{Lo}\p{N}]/u.test(line);

const SHORT_LINE_CHARS = 56;

/** Removes Markdown markup, HTML tags and reference marks from a line. */
export function markdownToLine(line: string): string {
  let text = line;
  for (const [pattern, replacement] of MARKUP_REPLACEMENTS) text = text.replaceAll(pattern, replacement);
  return text.replaceAll(/\s+/g, ' ').trim();
}

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
  [/<\/?[a-z][^<>]*>/gi, ''],
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
