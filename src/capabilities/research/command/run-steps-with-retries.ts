import { ServiceError, type ErrorKind } from '../../../core/error.ts';
import type { ResearchPipeline, ResearchContext, ResearchRequest, ResearchStep } from '../research.ts';

/** Errors that a retry may resolve. */
const TRANSIENT_ERROR_KINDS: ReadonlySet<ErrorKind> = new Set([
  'rate-limited',
  'overloaded',
  'timeout',
  'upstream-failed',
  'engine-failed',
]);

/**
 * Retries of a step in a row; pause in ms before the first retry, doubled for each next one, and its maximum. Parley's
 * choice.
 */
const STEP_RETRIES_MAX = 5;
const STEP_PAUSE_MS_MIN = 1_000;
const STEP_PAUSE_MS_MAX = 60_000;

export type Pause = (ms: number, signal: AbortSignal) => Promise<unknown>;

/** Runs the steps and retries a step after a transient error, without repeating earlier steps. */
export async function* runStepsWithRetries(
  research: Pick<ResearchPipeline, 'run'>,
  request: ResearchRequest,
  { context, pause }: { readonly context: ResearchContext; readonly pause: Pause },
): AsyncGenerator<ResearchStep, void> {
  const finishedSteps: ResearchStep[] = [];
  for (let failures = 0; ; failures += 1) {
    try {
      for await (const step of research.run(request, [...finishedSteps], context)) {
        finishedSteps.push(step);
        failures = 0;
        yield step;
      }
      return;
    } catch (error) {
      context.signal.throwIfAborted();
      const { kind, retryAfterSeconds = 0 } = ServiceError.from(error);
      const pauseMs = Math.max(STEP_PAUSE_MS_MIN * 2 ** failures, retryAfterSeconds * 1_000);
      if (!TRANSIENT_ERROR_KINDS.has(kind) || failures >= STEP_RETRIES_MAX || pauseMs > STEP_PAUSE_MS_MAX) throw error;
      await pause(pauseMs, context.signal);
    }
  }
}
