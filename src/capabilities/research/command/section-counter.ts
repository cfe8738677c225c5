import { countWords } from './format-text.ts';

export interface ReportSection {
  readonly title: string;
  readonly words: number;
}

/** Counts the words of a streamed report by section. A section is finished when the next one starts. */
export interface SectionCounter {
  push(text: string): void;
  hasStarted(): boolean;
  /** Returns the words of the report so far. */
  countTotalWords(): number;
  /** Returns the sections finished since the last call. */
  takeFinished(): readonly ReportSection[];
  /** Returns the remaining sections including the last one. Call it at the end of the report. */
  takeAll(): readonly ReportSection[];
}

const HEADING = /^#{1,2}[ \t]+(\S.*)$/;

export function createSectionCounter(): SectionCounter {
  const finished: ReportSection[] = [];
  /** The current, incomplete line. */
  let line = '';
  let title = '';
  let words = 0;
  let wordsBefore = 0;
  let hasStarted = false;
  const endSection = (): void => {
    // A report title without text is not a section.
    if (title !== '' && words > 0) finished.push({ title, words });
    wordsBefore += words;
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
      hasStarted ||= text !== '';
      const [first = '', ...rest] = text.split('\n');
      line += first;
      for (const next of rest) {
        endLine();
        line = next;
      }
    },
    hasStarted: () => hasStarted,
    countTotalWords: () => wordsBefore + words + (HEADING.test(line) ? 0 : countWords(line)),
    takeFinished: () => finished.splice(0),
    takeAll() {
      endLine();
      endSection();
      return finished.splice(0);
    },
  };
}
