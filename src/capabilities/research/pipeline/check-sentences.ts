import { MARK_OR_CODE, parseMarkNumbers } from '../../../generation/citations/citation-marks.ts';
import { createPassage } from '../../../generation/citations/passage.ts';
import type { ReportSentence } from './step-record.ts';
import { createSentenceIndex } from './sentence-index.ts';
import { markdownToLine } from './markdown-to-blocks.ts';
import { dependsOnPrevious } from '../../../generation/citations/depends-on-previous.ts';
import { isReportable } from './reportable-sentence.ts';
import { splitSentences } from './sentences.ts';
import type { CollectedNote } from './state.ts';

export interface SentenceCheckResult {
  readonly accepted: readonly (ReportSentence & { readonly note: number })[];
  /** Sentences that no note supports, without citation marks. */
  readonly rejected: readonly string[];
}

/**
 * Selects the sentences of a model's text that its numbered notes (from 1) support. A sentence is attributed to the
 * note whose number it carries; without a supporting mark, to a note that says nearly the same. Sentences that the
 * report already contains are dropped, and so is a sentence that depends on a dropped one.
 */
export function checkSentences(
  text: string,
  notes: readonly CollectedNote[],
  writtenBefore: readonly string[],
): SentenceCheckResult {
  const passages = notes.map(({ context }) => createPassage(context));
  const writtenSentences = createSentenceIndex(writtenBefore);
  const accepted: (ReportSentence & { readonly note: number })[] = [];
  const rejected: string[] = [];
  for (const line of text.split('\n')) {
    let isAfterAccepted = false;
    for (const rawSentence of splitSentences(line)) {
      const parts = rawSentence.split(MARK_OR_CODE);
      const marked = parts.flatMap((part, at) =>
        at % 2 === 1 ? parseMarkNumbers(part).map((number) => number - 1) : [],
      );
      const sentence = markdownToLine(
        parts
          .filter((_, at) => at % 2 === 0)
          .join('')
          .replaceAll(/\s+(?=[.,;:。，])/g, ''),
      );
      if (sentence === '') continue;
      const markedNote = marked.find((at) => passages[at]?.compareSentence(sentence).isSupported);
      const at = markedNote ?? passages.findIndex((passage) => passage.clearlySupports(sentence));
      const note = notes[at];
      const lacksContext = dependsOnPrevious(sentence) && !isAfterAccepted;
      isAfterAccepted = false;
      if (!note || lacksContext || !isReportable(sentence)) rejected.push(sentence);
      else if (!writtenSentences.hasSimilar(sentence)) {
        writtenSentences.add(sentence);
        accepted.push({ text: sentence, site: note.site, note: note.id });
        isAfterAccepted = true;
      }
    }
  }
  return { accepted, rejected };
}
