import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Ours: lines of a program's output that are kept for the log of a failure. */
const LINES_MAX = 20;

/** Ours: characters of one of them. What comes after is not kept, however long the line is. */
const LINE_CHARACTERS_MAX = 500;

/** What a program said last. */
export interface LastLines {
  /** Oldest first, each without its line end; an unfinished one is the last. */
  all(): readonly string[];
}

/**
 * Reads a program's output and keeps its end, in bounded memory whatever is said: a progress bar is one line for ever.
 * @param hidden Texts that are never kept, for programs print their own settings.
 */
export function keepLastLines(output: Readable, hidden: readonly string[] = []): LastLines {
  const decoder = new StringDecoder('utf8');
  const lines: string[] = [];
  let rest = '';
  const finish = (): void => {
    if (rest.trim() !== '') lines.push(rest);
    if (lines.length > LINES_MAX) lines.shift();
    rest = '';
  };
  const take = (text: string): void => {
    const [first = '', ...others] = text.split(/[\r\n]+/);
    for (const [index, part] of [first, ...others].entries()) {
      if (index > 0) finish();
      rest = (rest + part).slice(0, LINE_CHARACTERS_MAX);
    }
  };
  output.on('data', (chunk: Buffer) => take(decoder.write(chunk)));
  output.on('end', finish);
  const hide = (line: string): string =>
    hidden.filter((text) => text !== '').reduce((shown, text) => shown.replaceAll(text, '[hidden]'), line);
  return { all: () => [...lines, ...(rest.trim() === '' ? [] : [rest])].slice(-LINES_MAX).map(hide) };
}
