import { truncateText, removeInvisibleCharacters } from '../../lib/remove-invisible-characters.ts';
import { walkElements } from './page-document.ts';
import type { PageElement } from './page-document.ts';

/** Elements that start a new line, and elements with an empty line before and after. */
const LINE_ELEMENTS: ReadonlySet<string> = new Set(
  'br caption dd dt figcaption legend li option summary tr'.split(' '),
);
const BLOCK_ELEMENTS: ReadonlySet<string> = new Set(
  (
    'address article aside blockquote body center details div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr ' +
    'html main nav ol p pre section table tbody tfoot thead ul'
  ).split(' '),
);

export interface ElementTextOptions {
  /** UTF-16 units. Longer text is truncated, at the end of a paragraph if one ends in the last quarter. */
  readonly charsMax: number;
  /** Returns true for elements to leave out. */
  readonly skip?: (element: PageElement) => boolean;
}

/**
 * Converts an element to plain text: empty lines between paragraphs, list items and table rows as lines, bars between
 * cells, collapsed whitespace except in preformatted text.
 */
export function getElementText(root: PageElement, { charsMax, skip }: ElementTextOptions): string {
  const builder = createTextBuilder(charsMax);
  for (const { element, isEntering, text } of walkElements(root, skip)) {
    if (text !== undefined) builder.addText(text);
    else if (isEntering) builder.enter(element);
    else builder.leave(element);
    if (builder.isFull()) break;
  }
  return truncateAtParagraph(
    removeInvisibleCharacters(builder.build())
      .replaceAll(/\n{3,}/g, '\n\n')
      .trim(),
    charsMax,
  );
}

function createTextBuilder(charsMax: number) {
  const pieces: string[] = [];
  let chars = 0;
  /** Line breaks before the next text, and whether a space precedes it. */
  let pendingBreaks = 0;
  let pendingSpace = false;
  let preformattedDepth = 0;
  let isFirstCell = true;

  const append = (text: string): void => {
    pieces.push(text);
    chars += text.length;
  };
  const write = (text: string): void => {
    if (pendingBreaks > 0 && chars > 0) append('\n'.repeat(pendingBreaks));
    else if (pendingSpace && chars > 0) append(' ');
    pendingBreaks = 0;
    pendingSpace = false;
    append(text);
  };
  const breakLines = (lines: number): void => void (pendingBreaks = Math.max(pendingBreaks, lines));

  return {
    enter({ localName }: PageElement): void {
      if (BLOCK_ELEMENTS.has(localName)) breakLines(2);
      else if (LINE_ELEMENTS.has(localName)) breakLines(1);
      if (localName === 'pre') preformattedDepth++;
      if (localName === 'li') write('- ');
      if (localName === 'tr') isFirstCell = true;
      if (localName === 'td' || localName === 'th') {
        if (!isFirstCell) write(' | ');
        isFirstCell = false;
      }
    },
    addText(text: string): void {
      if (preformattedDepth > 0) return text === '' ? undefined : write(text);
      const words = text.replaceAll(/\s+/g, ' ');
      if (words.startsWith(' ')) pendingSpace = true;
      const trimmed = words.trim();
      if (trimmed === '') return;
      // A list marker or a bar already ends with a space.
      if (pieces.at(-1)?.endsWith(' ')) pendingSpace = false;
      write(trimmed);
      pendingSpace = words.endsWith(' ');
    },
    leave({ localName }: PageElement): void {
      if (BLOCK_ELEMENTS.has(localName)) breakLines(2);
      else if (LINE_ELEMENTS.has(localName)) breakLines(1);
      if (localName === 'pre') preformattedDepth--;
    },
    isFull: () => chars > charsMax * 2,
    build: () => pieces.join(''),
  };
}

/** Truncates text to `charsMax` UTF-16 units, at the end of a paragraph if that loses less than a quarter. */
export function truncateAtParagraph(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const cut = truncateText(text, charsMax);
  const end = cut.lastIndexOf('\n\n');
  return (end > charsMax * 0.75 ? cut.slice(0, end) : cut).trimEnd();
}
