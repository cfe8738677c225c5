import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { RESEARCH_PARAGRAPH_TOKENS_MAX } from '../../core/limits.ts';
import { checkSentences } from './check-sentences.ts';
import { NOTHING_SPENT, sumOfSpent } from './kept.ts';
import type { Spent, WrittenSentence } from './kept.ts';
import type { AskModel } from './model-run.ts';
import { paragraphPrompt } from './paragraph-prompt.ts';
import type { ParagraphTask } from './paragraph-prompt.ts';

export interface Paragraph {
  readonly sentences: readonly WrittenSentence[];
  /** Notes that it says. */
  readonly used: readonly number[];
  readonly spent: Spent;
  /** The model could not be asked. */
  readonly isFailed: boolean;
}

/** A paragraph in the model's words, of sentences that their sources bear out; what they do not is asked for once more. */
export async function writeParagraph(
  task: Omit<ParagraphTask, 'refused'>,
  said: readonly string[],
  ask: AskModel,
  context: RequestContext,
): Promise<Paragraph> {
  const kept: ReturnType<typeof checkSentences>['kept'][number][] = [];
  let refused: readonly string[] = [];
  let spent = NOTHING_SPENT;
  let isFailed = false;
  for (let time = 0; time < TRIES && !isFailed; time++) {
    const notes = task.notes.filter(({ id }) => !kept.some(({ note }) => note === id));
    if (notes.length === 0 || (time > 0 && refused.length === 0)) break;
    try {
      const messages = paragraphPrompt({ ...task, notes, refused });
      const answer = await ask({ messages, maxTokens: RESEARCH_PARAGRAPH_TOKENS_MAX, temperature: 0 }, context);
      spent = sumOfSpent(spent, answer.spent);
      const checked = checkSentences(answer.text, notes, [...said, ...kept.map(({ text }) => text)]);
      kept.push(...checked.kept);
      ({ refused } = checked);
    } catch (error) {
      if (context.signal.aborted) throw error;
      context.log.warn('a paragraph of a research could not be asked for', { error: ServiceError.from(error).message });
      isFailed = true;
    }
  }
  return {
    sentences: kept.map(({ text, site }) => ({ text, site })),
    used: [...new Set(kept.map(({ note }) => note))],
    spent,
    isFailed,
  };
}

/** Ours: the second one is told what of the first was refused. */
const TRIES = 2;
