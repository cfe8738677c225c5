import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Message } from '../../core/message.ts';
import type { ReportSize, Research } from '../../core/research.ts';
import type { Clock } from '../../lib/clock.ts';
import { createOutcome, type ResearchRecord } from './record.ts';
import { reportLanguage } from './report-words.ts';
import type { ResearchDisplay } from './research-display.ts';
import { steadySteps, type Pause } from './steady-steps.ts';

export interface RunWish {
  readonly question: string;
  readonly model: string;
  readonly reportSize: ReportSize;
  /** What is said to the question that is asked back. */
  readonly answer: (signal: AbortSignal) => Promise<string>;
}

export interface RunNeeds {
  readonly research: Research;
  readonly context: RequestContext;
  readonly clock: Clock;
  readonly pause: Pause;
  readonly display: ResearchDisplay;
}

const said = (role: 'user' | 'assistant', text: string): Message => ({ role, content: [{ type: 'text', text }] });

/**
 * Both steps of a research, shown as they go.
 * @throws ServiceError as `Research`; the signal's reason where it aborts; `engine-failed` where a run ends without a report.
 */
export async function runResearch(wish: RunWish, needs: RunNeeds): Promise<ResearchRecord> {
  try {
    return await bothSteps(wish, needs);
  } catch (error) {
    // Whatever broke off then did so for that reason.
    needs.context.signal.throwIfAborted();
    throw error;
  }
}

async function bothSteps(
  { question, model, reportSize, answer: askAnswer }: RunWish,
  { research, context, clock, pause, display }: RunNeeds,
): Promise<ResearchRecord> {
  const { signal } = context;
  const first = [said('user', question)];

  const asked = createOutcome();
  const askedAt = clock.monotonic();
  display.phase('Reading the question');
  for await (const events of await research.clarify({ model, messages: first, reportSize }, context)) {
    signal.throwIfAborted();
    for (const event of events) asked.push(event);
  }
  const { askedBack, inputTokens, outputTokens } = asked.read();
  const askingMs = clock.monotonic() - askedAt;
  display.phase('');
  display.said('Asked back', askedBack);
  const answer = await askAnswer(signal);
  signal.throwIfAborted();

  const request = { model, messages: [...first, said('assistant', askedBack), said('user', answer)], reportSize };
  const startedAt = clock.now();
  const workedAt = clock.monotonic();
  display.phase('Planning');
  await research.check(request, context);
  const found = createOutcome();
  for await (const { tell } of steadySteps(research, request, { context: { ...context, startedAt }, pause })) {
    signal.throwIfAborted();
    for (const event of tell) found.push(event);
    display.push(tell);
  }
  signal.throwIfAborted();

  const { hasEnded, ...outcome } = found.read();
  if (!hasEnded || outcome.report.trim() === '')
    throw new ServiceError('engine-failed', 'The research ended without a whole report. Nothing was written.');
  return {
    ...outcome,
    question,
    askedBack,
    answer,
    model,
    startedAt,
    language: await reportLanguage(outcome.report),
    elapsedMs: askingMs + clock.monotonic() - workedAt,
    inputTokens: inputTokens + outcome.inputTokens,
    outputTokens: outputTokens + outcome.outputTokens,
  };
}
