import { cutText, visibleText } from '../../lib/visible-text.ts';
import { walk } from './page-document.ts';
import type { PageElement } from './page-document.ts';

/** Elements that begin a line of their own, and those that stand apart from what is around them. */
const LINES: ReadonlySet<string> = new Set('br caption dd dt figcaption legend li option summary tr'.split(' '));
const BLOCKS: ReadonlySet<string> = new Set(
  (
    'address article aside blockquote body center details div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr ' +
    'html main nav ol p pre section table tbody tfoot thead ul'
  ).split(' '),
);

export interface ElementTextOptions {
  /** UTF-16 units. Beyond: cut at the end of a paragraph, if one ends in the last quarter. */
  readonly charsMax: number;
  /** Whose text is left out. */
  readonly skip?: (element: PageElement) => boolean;
}

/**
 * The text of an element as plain text: paragraphs apart, lists by lines, cells of a row by bars, blanks as one but for what is
 * set as it was typed.
 */
export function elementText(root: PageElement, { charsMax, skip }: ElementTextOptions): string {
  const flow = createFlow(charsMax);
  for (const { element, isEntering, text } of walk(root, skip)) {
    if (text !== undefined) flow.text(text);
    else if (isEntering) flow.enter(element);
    else flow.leave(element);
    if (flow.isFull()) break;
  }
  return cutParagraphs(
    visibleText(flow.end())
      .replaceAll(/\n{3,}/g, '\n\n')
      .trim(),
    charsMax,
  );
}

interface Flow {
  enter(element: PageElement): void;
  text(text: string): void;
  leave(element: PageElement): void;
  isFull(): boolean;
  end(): string;
}

function createFlow(charsMax: number): Flow {
  const pieces: string[] = [];
  let chars = 0;
  /** Ends of lines before the next text, and whether a blank stands there. */
  let breaks = 0;
  let isBlank = false;
  let typedIn = 0;
  let isFirstCell = true;

  const put = (text: string): void => {
    pieces.push(text);
    chars += text.length;
  };
  const write = (text: string): void => {
    if (breaks > 0 && chars > 0) put('\n'.repeat(breaks));
    else if (isBlank && chars > 0) put(' ');
    breaks = 0;
    isBlank = false;
    put(text);
  };
  const breakBy = (lines: number): void => void (breaks = Math.max(breaks, lines));

  return {
    enter({ localName }) {
      if (BLOCKS.has(localName)) breakBy(2);
      else if (LINES.has(localName)) breakBy(1);
      if (localName === 'pre') typedIn++;
      if (localName === 'li') write('- ');
      if (localName === 'tr') isFirstCell = true;
      if (localName === 'td' || localName === 'th') {
        if (!isFirstCell) write(' | ');
        isFirstCell = false;
      }
    },
    text(text) {
      if (typedIn > 0) return text === '' ? undefined : write(text);
      const words = text.replaceAll(/\s+/g, ' ');
      if (words.startsWith(' ')) isBlank = true;
      const trimmed = words.trim();
      if (trimmed === '') return;
      // What a mark of a list or a bar left is no blank to be added to.
      if (pieces.at(-1)?.endsWith(' ')) isBlank = false;
      write(trimmed);
      isBlank = words.endsWith(' ');
    },
    leave({ localName }) {
      if (BLOCKS.has(localName)) breakBy(2);
      else if (LINES.has(localName)) breakBy(1);
      if (localName === 'pre') typedIn--;
    },
    isFull: () => chars > charsMax * 2,
    end: () => pieces.join(''),
  };
}

/** At most so many UTF-16 units, up to the end of a paragraph where that costs less than a quarter. */
export function cutParagraphs(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const cut = cutText(text, charsMax);
  const end = cut.lastIndexOf('\n\n');
  return (end > charsMax * 0.75 ? cut.slice(0, end) : cut).trimEnd();
}
