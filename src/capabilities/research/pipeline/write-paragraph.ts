import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import { RESEARCH_PARAGRAPH_TOKENS_MAX } from './limits.ts';
import { checkSentences } from './check-sentences.ts';
import { NO_TOKEN_USAGE, addTokenUsage } from './step-record.ts';
import type { TokenUsage, ReportSentence } from './step-record.ts';
import type { RunModel } from './run-model.ts';
import { createParagraphPrompt } from './paragraph-prompt.ts';
import type { ParagraphTask } from './paragraph-prompt.ts';

export interface Paragraph {
  readonly sentences: readonly ReportSentence[];
  /** Ids of the notes that the paragraph uses. */
  readonly usedNotes: readonly number[];
  readonly usage: TokenUsage;
  /** The model call failed. */
  readonly isFailed: boolean;
}

/**
 * Writes a paragraph with the model from sentences that their sources support. Rejected sentences are requested once
 * more.
 */
export async function writeParagraph(
  task: Omit<ParagraphTask, 'rejected'>,
  writtenSentences: readonly string[],
  runModel: RunModel,
  context: RequestContext,
): Promise<Paragraph> {
  const accepted: ReturnType<typeof checkSentences>['accepted'][number][] = [];
  let rejected: readonly string[] = [];
  let usage = NO_TOKEN_USAGE;
  let isFailed = false;
  for (let attempt = 0; attempt < ATTEMPTS_MAX && !isFailed; attempt++) {
    const notes = task.notes.filter(({ id }) => !accepted.some(({ note }) => note === id));
    if (notes.length === 0 || (attempt > 0 && rejected.length === 0)) break;
    try {
      const messages = createParagraphPrompt({ ...task, notes, rejected });
      const answer = await runModel({ messages, maxTokens: RESEARCH_PARAGRAPH_TOKENS_MAX, temperature: 0 }, context);
      usage = addTokenUsage(usage, answer.usage);
      const checked = checkSentences(answer.text, notes, [...writtenSentences, ...accepted.map(({ text }) => text)]);
      accepted.push(...checked.accepted);
      ({ rejected } = checked);
    } catch (error) {
      if (context.signal.aborted) throw error;
      context.log.warn('model call for a research paragraph failed', { error: ServiceError.from(error).message });
      isFailed = true;
    }
  }
  return {
    sentences: accepted.map(({ text, site }) => ({ text, site })),
    usedNotes: [...new Set(accepted.map(({ note }) => note))],
    usage,
    isFailed,
  };
}

/** Model calls per paragraph. The second prompt lists the sentences rejected from the first. */
const ATTEMPTS_MAX = 2;
