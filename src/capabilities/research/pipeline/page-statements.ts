import { CITATION_SOURCE_CHARS_MAX } from '../../../generation/limits.ts';
import { RESEARCH_CONTEXT_CHARS_MAX } from './limits.ts';
import { dependsOnPrevious, isReportable } from './reportable-sentence.ts';
import { markdownToBlocks } from './markdown-to-blocks.ts';
import { splitSentences } from './sentences.ts';

/** A sentence of a page that is understandable alone, with the following sentences that depend on it. */
export interface PageStatement {
  readonly at: number;
  readonly sentences: readonly string[];
  /** The paragraph of the sentence. A long paragraph is cut around the sentence. */
  readonly context: string;
}

/** Extracts the sentences of a page that a report may use, in page order and each at most once. */
export function extractStatements(text: string): readonly PageStatement[] {
  const statements: PageStatement[] = [];
  const seen = new Set<string>();
  let at = 0;
  for (const block of markdownToBlocks(text.slice(0, CITATION_SOURCE_CHARS_MAX))) {
    let open: string[] | undefined;
    for (const sentence of splitSentences(block)) {
      at++;
      const isUsable = isReportable(sentence) && !seen.has(sentence);
      seen.add(sentence);
      if (isUsable && !dependsOnPrevious(sentence)) {
        open = [sentence];
        statements.push({ at, sentences: open, context: cutContext(block, sentence) });
      } else if (isUsable && open && open.length < STATEMENT_SENTENCES_MAX) open.push(sentence);
      else open = undefined;
    }
  }
  return statements;
}

/** Sentences of one statement. Further dependent sentences usually state something else. */
const STATEMENT_SENTENCES_MAX = 2;

function cutContext(block: string, sentence: string): string {
  if (block.length <= RESEARCH_CONTEXT_CHARS_MAX) return block;
  const spare = Math.floor(RESEARCH_CONTEXT_CHARS_MAX / 3);
  const start = Math.max(0, block.indexOf(sentence) - spare);
  return block.slice(start, start + RESEARCH_CONTEXT_CHARS_MAX).toWellFormed();
}
