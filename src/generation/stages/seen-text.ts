/** What there is to see of a text that grows: its end. */
export interface Seen {
  readonly text: string;
  /** Where it begins in the whole text. */
  readonly from: number;
  /** The character before it; empty at the beginning of the whole text. */
  readonly before: string;
  /** Nothing more will come. */
  readonly isLast: boolean;
  /** Where the blanks that begin at a place end; the place itself where there is none. */
  blankEnd(at: number): number;
  /** Behind the last line end among the blanks that begin at a place; undefined where they have none. */
  lineStart(at: number): number | undefined;
}

/** Goes through the text once, so that asking about a run of blanks takes the same time however long it is. */
export function seeText(facts: Pick<Seen, 'text' | 'from' | 'before' | 'isLast'>): Seen {
  const { text } = facts;
  const ends = new Uint32Array(text.length);
  // 0: none. No line begins at the beginning of a run.
  const lines = new Uint32Array(text.length);
  for (let at = text.length - 1; at >= 0; at--) {
    const isInRun = isBlank(text[at]);
    ends[at] = isInRun ? (ends[at + 1] ?? text.length) : at;
    if (isInRun) lines[at] = lines[at + 1] || (text[at] === '\n' ? at + 1 : 0);
  }
  return {
    ...facts,
    blankEnd: (at) => ends[at] ?? text.length,
    lineStart: (at) => lines[at] || undefined,
  };
}

const isBlank = (character: string | undefined): boolean => character !== undefined && /\s/.test(character);
