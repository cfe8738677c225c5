/** The part of a terminal or another output stream that commands use. */
export interface TerminalStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  /** Calls `done` when the stream accepts more data, or with an error when its reader has exited. */
  write(text: string, done?: (error?: Error | null) => void): unknown;
}

/** Writes a text. @returns false if the reader of the stream has exited. */
export const tryWrite = (stream: TerminalStream, text: string): Promise<boolean> =>
  new Promise((resolve) => void stream.write(text, (error) => resolve(!error)));

/**
 * Returns a function that creates the escape sequences to replace the previous text by the next. Lines beyond the size
 * of the terminal are cut, because they could not be replaced later.
 */
export function createTerminalRedraw(stream: Pick<TerminalStream, 'rows' | 'columns'>): (text: string) => string {
  let lineCount = 0;
  return (text) => {
    const lines = text
      .split('\n')
      .slice(0, -1)
      .slice(0, (stream.rows ?? 24) - 1)
      .map((line) => line.slice(0, (stream.columns ?? 80) - 1));
    const moveUp = lineCount === 0 ? '' : `\u001b[${lineCount}A`;
    lineCount = lines.length;
    return `${moveUp}\u001b[J${lines.map((line) => `${line}\n`).join('')}`;
  };
}

/** Returns a function that returns the lines that are new or changed since its previous call, by key. */
export function createLineDiff(): (lines: ReadonlyMap<string, string>) => readonly string[] {
  let previous: ReadonlyMap<string, string> = new Map();
  return (lines) => {
    const changed = [...lines].filter(([key, line]) => previous.get(key) !== line).map(([, line]) => line);
    previous = lines;
    return changed;
  };
}
