/** The part of a terminal or another stream that is used. */
export interface WatchStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  /** Calls back when it can take more, or can take nothing because its reader has left. */
  write(text: string, done?: (error?: Error | null) => void): unknown;
}

/** False where the reader has left. */
export const isTaken = (stream: WatchStream, text: string): Promise<boolean> =>
  new Promise((resolve) => void stream.write(text, (error) => resolve(!error)));

/** What is to be written so that a text takes the place of the one before. What is wider or higher than the terminal is cut: it would stay above. */
export function createRedraw(stream: Pick<WatchStream, 'rows' | 'columns'>): (text: string) => string {
  let drawn = 0;
  return (text) => {
    const lines = text
      .split('\n')
      .slice(0, -1)
      .slice(0, (stream.rows ?? 24) - 1)
      .map((line) => line.slice(0, (stream.columns ?? 80) - 1));
    const up = drawn === 0 ? '' : `\u001b[${drawn}A`;
    drawn = lines.length;
    return `${up}\u001b[J${lines.map((line) => `${line}\n`).join('')}`;
  };
}

/** Of lines by key those that are new or have changed since they were last asked for. */
export function createChanges(): (lines: ReadonlyMap<string, string>) => readonly string[] {
  let before: ReadonlyMap<string, string> = new Map();
  return (lines) => {
    const changed = [...lines].filter(([key, line]) => before.get(key) !== line).map(([, line]) => line);
    before = lines;
    return changed;
  };
}
