import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Number of output lines kept for the log of a failure; no specification prescribes it. */
const LINES_MAX = 20;

/** Characters kept of one line; the rest of a longer line is dropped. No specification prescribes it. */
const LINE_CHARACTERS_MAX = 500;

/** The last lines that a program printed. */
export interface LineTail {
  /** Returns the lines, oldest first, without line breaks. An unfinished line comes last. */
  getLines(): readonly string[];
}

/**
 * Keeps the last lines of a program's output in bounded memory. A carriage return ends a line too, so the updates of a
 * progress bar are separate lines.
 * @param secrets Texts that are replaced by `[hidden]`, because programs print their own settings.
 */
export function collectLastLines(output: Readable, secrets: readonly string[] = []): LineTail {
  const decoder = new StringDecoder('utf8');
  const lines: string[] = [];
  let unfinished = '';
  const finishLine = (): void => {
    if (unfinished.trim() !== '') lines.push(unfinished);
    if (lines.length > LINES_MAX) lines.shift();
    unfinished = '';
  };
  const addText = (text: string): void => {
    const [first = '', ...others] = text.split(/[\r\n]+/);
    for (const [index, part] of [first, ...others].entries()) {
      if (index > 0) finishLine();
      unfinished = (unfinished + part).slice(0, LINE_CHARACTERS_MAX);
    }
  };
  output.on('data', (chunk: Buffer) => addText(decoder.write(chunk)));
  output.on('end', finishLine);
  const redact = (line: string): string =>
    secrets.filter((text) => text !== '').reduce((shown, text) => shown.replaceAll(text, '[hidden]'), line);
  return {
    getLines: () => [...lines, ...(unfinished.trim() === '' ? [] : [unfinished])].slice(-LINES_MAX).map(redact),
  };
}
