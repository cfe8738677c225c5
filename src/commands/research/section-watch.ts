import { countWords } from './describe.ts';

export interface WrittenSection {
  readonly title: string;
  readonly words: number;
}

/** A report while it comes: a section is done when the next one begins. What stands before the first is none, unless it is all. */
export interface SectionWatch {
  push(text: string): void;
  hasBegun(): boolean;
  /** Of the whole report so far. */
  words(): number;
  /** Sections that are done and were not taken yet. */
  takeDone(): readonly WrittenSection[];
  /** The last one too: nothing comes after it. */
  takeAll(): readonly WrittenSection[];
}

const HEADING = /^#{1,2}[ \t]+(\S.*)$/;

export function createSectionWatch(): SectionWatch {
  const done: WrittenSection[] = [];
  /** The line that is being written. */
  let line = '';
  let title = '';
  let words = 0;
  let before = 0;
  let hasBegun = false;
  const endSection = (): void => {
    // A title of the whole, with nothing under it, is no section.
    if (title !== '' && words > 0) done.push({ title, words });
    before += words;
    words = 0;
  };
  const endLine = (): void => {
    const heading = HEADING.exec(line.trim())?.[1];
    if (heading === undefined) words += countWords(line);
    else {
      endSection();
      title = heading;
    }
    line = '';
  };
  return {
    push(text) {
      hasBegun ||= text !== '';
      const [first = '', ...rest] = text.split('\n');
      line += first;
      for (const next of rest) {
        endLine();
        line = next;
      }
    },
    hasBegun: () => hasBegun,
    words: () => before + words + (HEADING.test(line) ? 0 : countWords(line)),
    takeDone: () => done.splice(0),
    takeAll() {
      endLine();
      endSection();
      return done.splice(0);
    },
  };
}
