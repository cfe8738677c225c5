/** The part of a terminal or another stream that is used. */
export interface WatchStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

/** Text that takes the place of what was drawn before. What is wider or higher than the terminal is cut: it would stay above. */
export function createRedraw(stream: WatchStream): (text: string) => void {
  let drawn = 0;
  return (text) => {
    const lines = text
      .split('\n')
      .slice(0, -1)
      .slice(0, (stream.rows ?? 24) - 1)
      .map((line) => line.slice(0, (stream.columns ?? 80) - 1));
    const up = drawn === 0 ? '' : `\u001b[${drawn}A`;
    stream.write(`${up}\u001b[J${lines.map((line) => `${line}\n`).join('')}`);
    drawn = lines.length;
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
