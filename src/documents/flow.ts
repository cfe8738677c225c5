import type { TextSink } from './text-sink.ts';

/** Text with its lines, lists and tables, as it comes out of a format. */
export interface Flow {
  /** As it stands. */
  say(text: string): void;
  /** With blanks in a row as one. */
  sayWords(text: string): void;
  /** What comes next begins a line of its own. */
  line(): void;
  /** What comes next begins behind an empty line. */
  gap(): void;
  /** Stands before what is said next, e.g. `- `. */
  mark(prefix: string): void;
  /** A row of a table is a line; its cells have tabs between them, and their own lines become blanks. */
  beginRow(): void;
  beginCell(): void;
  endRow(): void;
}

/** `line` and `gap` in newlines. */
const LINE = 1;
const GAP = 2;

export function createFlow(sink: Pick<TextSink, 'push'>): Flow {
  let hasText = false;
  let newlines = 0;
  let prefix = '';
  let isAfterBlank = true;
  /** Of rows inside each other, the outer ones are lines. */
  let rows = 0;
  let cells = 0;
  let hasCellText = false;

  const put = (text: string): void => {
    if (text === '') return;
    if (rows > 0) {
      if (newlines > 0 && hasCellText) sink.push(' ');
      newlines = 0;
      hasCellText = true;
      sink.push(prefix + text.replaceAll(/[\n\t]+/g, ' '));
    } else {
      if (hasText && newlines > 0) sink.push('\n'.repeat(newlines));
      newlines = 0;
      sink.push(prefix + text);
    }
    prefix = '';
    hasText = true;
    isAfterBlank = /\s$/.test(text.slice(-1));
  };
  const breakBy = (count: number): void => {
    newlines = Math.max(newlines, count);
    isAfterBlank = true;
    prefix = '';
  };

  return {
    say: put,
    sayWords(text) {
      const words = text.replaceAll(/[ \t\n\r\f]+/g, ' ');
      put(isAfterBlank && words.startsWith(' ') ? words.slice(1) : words);
    },
    line: () => breakBy(LINE),
    gap: () => breakBy(GAP),
    mark(text) {
      prefix = text;
    },
    beginRow() {
      if (rows === 0) {
        if (hasText) sink.push('\n'.repeat(Math.max(newlines, LINE)));
        newlines = 0;
        cells = 0;
        isAfterBlank = true;
      }
      rows++;
    },
    beginCell() {
      if (rows !== 1) return breakBy(LINE);
      if (cells > 0) sink.push('\t');
      cells++;
      hasCellText = false;
      newlines = 0;
      isAfterBlank = true;
    },
    endRow() {
      rows = Math.max(0, rows - 1);
      breakBy(LINE);
      if (cells > 0) hasText = true;
    },
  };
}
