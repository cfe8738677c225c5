import { CITATION_SOURCE_CHARS_MAX } from '../../../generation/limits.ts';
import { dependsOnPrevious } from '../../../generation/citations/depends-on-previous.ts';
import { RESEARCH_CONTEXT_CHARS_MAX } from './limits.ts';
import { isReportable, isReportableEntry } from './reportable-sentence.ts';
import { markdownToBlocks } from './markdown-to-blocks.ts';
import { splitSentences } from './sentences.ts';

/** A sentence of a page that is understandable alone, with the following sentences that depend on it. */
export interface PageStatement {
  readonly at: number;
  readonly sentences: readonly string[];
  /** The paragraph of the sentence. A long paragraph is cut around the sentence. */
  readonly context: string;
  /** The headings above the sentence. */
  readonly headings: string;
}

/**
 * Extracts the sentences of a page that a report may use, in page order and each at most once. The first sentence of a
 * definition, such as `Specifies the maximum age.`, follows the name that it defines: `max_age: Specifies …`.
 */
export function extractStatements(text: string): readonly PageStatement[] {
  const statements: PageStatement[] = [];
  const seen = new Set<string>();
  let at = 0;
  let lastHeading: string | undefined;
  for (const { text: block, headings } of markdownToBlocks(text.slice(0, CITATION_SOURCE_CHARS_MAX))) {
    const heading = headings.at(-1);
    // Only the paragraph directly below a name defines it.
    let label = heading !== lastHeading && heading !== undefined && DEFINED_NAME.test(heading) ? heading : undefined;
    lastHeading = heading;
    let open: string[] | undefined;
    const start = (sentence: string, source: string): void => {
      open = [sentence];
      statements.push({ at, sentences: open, context: cutContext(block, source), headings: headings.join('\n') });
    };
    for (const sentence of splitSentences(block)) {
      at++;
      const isNew = !seen.has(sentence);
      seen.add(sentence);
      const isUsable = isNew && isReportable(sentence);
      if (label !== undefined && isNew && isReportableEntry(sentence)) start(`${label}: ${sentence}`, sentence);
      else if (isUsable && !dependsOnPrevious(sentence)) start(sentence, sentence);
      else if (isUsable && open && open.length < STATEMENT_SENTENCES_MAX) open.push(sentence);
      else open = undefined;
      label = undefined;
    }
  }
  return statements;
}

/** A name of a setting, an option or a function above its description. */
const DEFINED_NAME =
  /^(?=.{2,60}$)(?=.*(?:[\p{L}\p{N}][_.]\p{L}|(?:^|\s)--?\p{L}|\(\)|\p{Ll}\p{Lu}))[-\p{L}\p{N}][^;|<>[\]*`]*$/u;

/** Sentences of one statement. Further dependent sentences usually state something else. */
const STATEMENT_SENTENCES_MAX = 2;

function cutContext(block: string, sentence: string): string {
  if (block.length <= RESEARCH_CONTEXT_CHARS_MAX) return block;
  const spare = Math.floor(RESEARCH_CONTEXT_CHARS_MAX / 3);
  const start = Math.max(0, block.indexOf(sentence) - spare);
  return block.slice(start, start + RESEARCH_CONTEXT_CHARS_MAX).toWellFormed();
}
