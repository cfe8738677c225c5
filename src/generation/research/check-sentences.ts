import { MARK_OR_CODE, numbersOf } from '../citations/marks.ts';
import { createPassage } from '../citations/passage.ts';
import type { WrittenSentence } from './kept.ts';
import { createSaidSentences } from './likeness.ts';
import { plainLine } from './plain-blocks.ts';
import { isReadable, leansBack } from './readable.ts';
import { sentencesOf } from './sentences.ts';
import type { HeldNote } from './state.ts';
import { createTurnedMeaning } from './turned-meaning.ts';

export interface CheckedSentences {
  readonly kept: readonly (WrittenSentence & { readonly note: number })[];
  /** What no note bears out, without marks. */
  readonly refused: readonly string[];
}

/**
 * Of what a model wrote from notes, numbered from 1, the sentences that their source bears out: the one whose number stands
 * with them, else one that says the same almost in their words. What was said before is left out; so is what leans on a
 * sentence that is.
 */
export function checkSentences(text: string, notes: readonly HeldNote[], before: readonly string[]): CheckedSentences {
  const passages = notes.map(({ context }) => {
    const passage = createPassage(context);
    const isTurned = createTurnedMeaning(context);
    return { ...passage, isTrue: (sentence: string): boolean => !isTurned(sentence, passage.nearest(sentence)) };
  });
  const said = createSaidSentences(before);
  const kept: (WrittenSentence & { readonly note: number })[] = [];
  const refused: string[] = [];
  for (const line of text.split('\n')) {
    let isBehindKept = false;
    for (const written of sentencesOf(line)) {
      const parts = written.split(MARK_OR_CODE);
      const marked = parts.flatMap((part, at) => (at % 2 === 1 ? numbersOf(part).map((number) => number - 1) : []));
      const sentence = plainLine(
        parts
          .filter((_, at) => at % 2 === 0)
          .join('')
          .replaceAll(/\s+(?=[.,;:。，])/g, ''),
      );
      if (sentence === '') continue;
      const own = marked.find((at) => passages[at]?.check(sentence).holds && passages[at].isTrue(sentence));
      const at = own ?? passages.findIndex((passage) => passage.bears(sentence) && passage.isTrue(sentence));
      const note = notes[at];
      const isLost = leansBack(sentence) && !isBehindKept;
      isBehindKept = false;
      if (!note || isLost || !isReadable(sentence)) refused.push(sentence);
      else if (!said.hasLike(sentence)) {
        said.add(sentence);
        kept.push({ text: sentence, site: note.site, note: note.id });
        isBehindKept = true;
      }
    }
  }
  return { kept, refused };
}
