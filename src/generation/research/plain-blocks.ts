/**
 * The paragraphs and list items of a text that may be Markdown or what was read out of a page: each in one line, without marks
 * of any markup. Headings, code, tables, pictures and addresses of links are left out.
 */
export function plainBlocks(text: string): readonly string[] {
  const blocks: string[] = [];
  let open: string[] = [];
  const close = (): void => {
    const block = plainLine(open.join(' '));
    if (block !== '') blocks.push(block);
    open = [];
  };
  const lines = text.replaceAll(/<!--.*?-->/gs, ' ').split('\n');
  // A part of a text may begin within code: then nobody knows which of its lines are.
  const isPaired = lines.filter((line) => FENCE.test(line)).length % 2 === 0;
  let isCode = false;
  for (const whole of lines) {
    if (FENCE.test(whole)) {
      close();
      isCode = isPaired && !isCode;
      continue;
    }
    if (isCode) continue;
    const line = whole.replace(/^\s{0,3}(?:>\s?)+/, '');
    if (UNDERLINE.test(line)) {
      open = [];
      continue;
    }
    if (isNoProse(line, open.length > 0)) {
      close();
      continue;
    }
    const item = ITEM.exec(line);
    if (item || endsBefore(open.at(-1), line)) close();
    open.push(item ? line.slice(item[0].length) : line.trim());
  }
  close();
  return blocks;
}

const FENCE = /^\s*(?:>\s*)*(?:[-*+]\s+|\d{1,3}[.)]\s+)?(?:`{3,}|~{3,})/;

/** Of the heading before it; also what parts a text. */
const UNDERLINE = /^\s*(?:={3,}|-{3,}|\*{3,}|_{3,})\s*$/;

const ITEM = /^\s*(?:[-*+•·‣–]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?/;

function isNoProse(line: string, isOpen: boolean): boolean {
  if (line.trim() === '') return true;
  if (/^\s*#{1,6}(?:\s|$)/.test(line)) return true;
  if (/^\s*\|/.test(line) || (line.match(/\|/g)?.length ?? 0) > 1) return true;
  if (/^\s*\[[^\]]+\]:\s/.test(line)) return true;
  return !isOpen && /^(?: {4,}|\t)/.test(line) && !ITEM.test(line);
}

/** A short line without a stop before one that begins anew is a heading or an entry of a menu, not the beginning of a sentence. */
const endsBefore = (last: string | undefined, line: string): boolean =>
  last !== undefined &&
  last.length < SHORT_LINE_CHARS &&
  !/[,;，、；\p{Ps}]\s*$/u.test(last) &&
  /^\s*[\p{Lu}\p{Lo}\p{N}]/u.test(line);

const SHORT_LINE_CHARS = 56;

/** A line without the marks of Markdown, tags and references. */
export function plainLine(line: string): string {
  let text = line;
  for (const [pattern, kept] of MARKS) text = text.replaceAll(pattern, kept);
  return text.replaceAll(/\s+/g, ' ').trim();
}

/**
 * What a mark holds is bounded: otherwise one that is opened again and again, and never closed, takes time by the square of a
 * page's length.
 */
const MARKS: readonly (readonly [RegExp, string])[] = [
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
