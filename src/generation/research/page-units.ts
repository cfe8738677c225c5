import { CITATION_SOURCE_CHARS_MAX, RESEARCH_CONTEXT_CHARS_MAX } from '../../core/limits.ts';
import { leansBack, isReadable } from './readable.ts';
import { plainBlocks } from './plain-blocks.ts';
import { sentencesOf } from './sentences.ts';

/** A sentence of a page that can stand for itself, with those behind it that lean on it. */
export interface PageUnit {
  readonly at: number;
  readonly sentences: readonly string[];
  /** The paragraph it stands in, cut around it where it is long. */
  readonly context: string;
}

/** What a report could say of a page, in its order; each sentence at most once. */
export function pageUnits(text: string): readonly PageUnit[] {
  const units: PageUnit[] = [];
  const known = new Set<string>();
  let at = 0;
  for (const block of plainBlocks(text.slice(0, CITATION_SOURCE_CHARS_MAX))) {
    let open: string[] | undefined;
    for (const sentence of sentencesOf(block)) {
      at++;
      const isUsable = isReadable(sentence) && !known.has(sentence);
      known.add(sentence);
      if (isUsable && !leansBack(sentence)) {
        open = [sentence];
        units.push({ at, sentences: open, context: contextOf(block, sentence) });
      } else if (isUsable && open && open.length < UNIT_SENTENCES_MAX) open.push(sentence);
      else open = undefined;
    }
  }
  return units;
}

/** Ours: more of them say something of their own. */
const UNIT_SENTENCES_MAX = 2;

function contextOf(block: string, sentence: string): string {
  if (block.length <= RESEARCH_CONTEXT_CHARS_MAX) return block;
  const spare = Math.floor(RESEARCH_CONTEXT_CHARS_MAX / 3);
  const start = Math.max(0, block.indexOf(sentence) - spare);
  return block.slice(start, start + RESEARCH_CONTEXT_CHARS_MAX).toWellFormed();
}
