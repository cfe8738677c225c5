/** The end of a growing text, as far as it still matters. */
export interface TextWindow {
  readonly text: string;
  /** Position of `text` in the whole text. */
  readonly start: number;
  /** The character before `text`; empty at the start of the whole text. */
  readonly previousCharacter: string;
  /** The text will not grow any more. */
  readonly isComplete: boolean;
  /** Returns the end of the blanks that start at a position; the position itself when there are none. */
  getBlankEnd(at: number): number;
  /** Returns the position after the last line break among these blanks; undefined when they contain none. */
  getLineStart(at: number): number | undefined;
}

/** Indexes the blanks in one pass, so that each lookup takes constant time however long a run of blanks is. */
export function createTextWindow(
  source: Pick<TextWindow, 'text' | 'start' | 'previousCharacter' | 'isComplete'>,
): TextWindow {
  const { text } = source;
  const ends = new Uint32Array(text.length);
  // 0 means none: a line start is always after a line break, so it is never 0.
  const lines = new Uint32Array(text.length);
  for (let at = text.length - 1; at >= 0; at--) {
    const isInRun = isBlank(text[at]);
    ends[at] = isInRun ? (ends[at + 1] ?? text.length) : at;
    if (isInRun) lines[at] = lines[at + 1] || (text[at] === '\n' ? at + 1 : 0);
  }
  return {
    ...source,
    getBlankEnd: (at) => ends[at] ?? text.length,
    getLineStart: (at) => lines[at] || undefined,
  };
}

const isBlank = (character: string | undefined): boolean => character !== undefined && /\s/.test(character);
