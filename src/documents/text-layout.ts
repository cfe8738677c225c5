import type { TextSink } from './text-sink.ts';

/** Arranges the text of a document in lines, lists and tables. */
export interface TextLayout {
  /** Adds text as it is. */
  addText(text: string): void;
  /** Adds text with each run of whitespace collapsed to one space. */
  addCollapsedText(text: string): void;
  /** The next text starts a new line. */
  startLine(): void;
  /** The next text starts after an empty line. */
  startBlock(): void;
  /** Writes `prefix` before the next text, e.g. `- `. */
  setPrefix(prefix: string): void;
  /** A table row becomes one line with tabs between cells; line breaks within cells become spaces. */
  startRow(): void;
  startCell(): void;
  endRow(): void;
}

/** Newlines of `startLine` and `startBlock`. */
const LINE_BREAKS = 1;
const BLOCK_BREAKS = 2;

export function createTextLayout(sink: Pick<TextSink, 'push'>): TextLayout {
  let hasText = false;
  let pendingNewlines = 0;
  let prefix = '';
  let isAfterBlank = true;
  /** Depth of nested rows. Only the outermost row becomes a line. */
  let openRows = 0;
  let startedCells = 0;
  let hasCellText = false;

  const write = (text: string): void => {
    if (text === '') return;
    if (openRows > 0) {
      if (pendingNewlines > 0 && hasCellText) sink.push(' ');
      pendingNewlines = 0;
      hasCellText = true;
      sink.push(prefix + text.replaceAll(/[\n\t]+/g, ' '));
    } else {
      if (hasText && pendingNewlines > 0) sink.push('\n'.repeat(pendingNewlines));
      pendingNewlines = 0;
      sink.push(prefix + text);
    }
    prefix = '';
    hasText = true;
    isAfterBlank = /\s$/.test(text.slice(-1));
  };
  const breakLines = (count: number): void => {
    pendingNewlines = Math.max(pendingNewlines, count);
    isAfterBlank = true;
    prefix = '';
  };

  return {
    addText: write,
    addCollapsedText(text) {
      const words = text.replaceAll(/[ \t\n\r\f]+/g, ' ');
      write(isAfterBlank && words.startsWith(' ') ? words.slice(1) : words);
    },
    startLine: () => breakLines(LINE_BREAKS),
    startBlock: () => breakLines(BLOCK_BREAKS),
    setPrefix(text) {
      prefix = text;
    },
    startRow() {
      if (openRows === 0) {
        if (hasText) sink.push('\n'.repeat(Math.max(pendingNewlines, LINE_BREAKS)));
        pendingNewlines = 0;
        startedCells = 0;
        isAfterBlank = true;
      }
      openRows++;
    },
    startCell() {
      if (openRows !== 1) return breakLines(LINE_BREAKS);
      if (startedCells > 0) sink.push('\t');
      startedCells++;
      hasCellText = false;
      pendingNewlines = 0;
      isAfterBlank = true;
    },
    endRow() {
      openRows = Math.max(0, openRows - 1);
      breakLines(LINE_BREAKS);
      if (startedCells > 0) hasText = true;
    },
  };
}
