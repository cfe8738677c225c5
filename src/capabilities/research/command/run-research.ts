import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { Message } from '../../../core/message.ts';
import type { ReportSize, ResearchPipeline } from '../research.ts';
import type { Clock } from '../../../lib/clock.ts';
import { createOutcomeBuilder, type ResearchRecord } from './research-record.ts';
import { detectLanguageTag } from './report-labels.ts';
import type { ResearchDisplay } from './research-display.ts';
import { runStepsWithRetries, type Pause } from './run-steps-with-retries.ts';

export interface ResearchRunOptions {
  readonly question: string;
  readonly model: string;
  readonly reportSize: ReportSize;
  /** Returns the answer to the clarifying question. */
  readonly answer: (signal: AbortSignal) => Promise<string>;
}

export interface ResearchRunDeps {
  readonly research: ResearchPipeline;
  readonly context: RequestContext;
  readonly clock: Clock;
  readonly pause: Pause;
  readonly display: ResearchDisplay;
}

const createMessage = (role: 'user' | 'assistant', text: string): Message => ({
  role,
  content: [{ type: 'text', text }],
});

/**
 * Runs both steps of a research, the clarifying question and the report, and displays the progress.
 * @throws errors of ResearchPipeline; the signal's reason after an abort; `engine-failed` if the run ends without a
 * report.
 */
export async function runResearch(options: ResearchRunOptions, deps: ResearchRunDeps): Promise<ResearchRecord> {
  try {
    return await runBothSteps(options, deps);
  } catch (error) {
    // After an abort other errors are only its consequences.
    deps.context.signal.throwIfAborted();
    throw error;
  }
}

async function runBothSteps(
  { question, model, reportSize, answer: getAnswer }: ResearchRunOptions,
  { research, context, clock, pause, display }: ResearchRunDeps,
): Promise<ResearchRecord> {
  const { signal } = context;
  const first = [createMessage('user', question)];

  const clarification = createOutcomeBuilder();
  const clarifyStartedAt = clock.monotonic();
  display.phase('Reading the question');
  for await (const events of await research.clarify({ model, messages: first, reportSize }, context)) {
    signal.throwIfAborted();
    for (const event of events) clarification.push(event);
  }
  const { clarifyingQuestion, inputTokens, outputTokens } = clarification.read();
  const clarifyMs = clock.monotonic() - clarifyStartedAt;
  display.phase('');
  display.showText('Clarifying question', clarifyingQuestion);
  const answer = await getAnswer(signal);
  signal.throwIfAborted();

  const request = {
    model,
    messages: [...first, createMessage('assistant', clarifyingQuestion), createMessage('user', answer)],
    reportSize,
  };
  const startedAt = clock.now();
  const runStartedAt = clock.monotonic();
  display.phase('Planning');
  await research.checkRequest(request, context);
  const outcomeBuilder = createOutcomeBuilder();
  for await (const { events } of runStepsWithRetries(research, request, {
    context: { ...context, startedAt },
    pause,
  })) {
    signal.throwIfAborted();
    for (const event of events) outcomeBuilder.push(event);
    display.push(events);
  }
  signal.throwIfAborted();

  const { isComplete, ...outcome } = outcomeBuilder.read();
  if (!isComplete || outcome.report.trim() === '')
    throw new ServiceError(
      'engine-failed',
      'The research ended without a complete report. No file was written. Try again.',
    );
  return {
    ...outcome,
    question,
    clarifyingQuestion,
    answer,
    model,
    startedAt,
    language: await detectLanguageTag(outcome.report),
    elapsedMs: clarifyMs + clock.monotonic() - runStartedAt,
    inputTokens: inputTokens + outcome.inputTokens,
    outputTokens: outputTokens + outcome.outputTokens,
  };
}
