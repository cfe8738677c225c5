import { ServiceError, type ErrorKind } from '../../core/error.ts';
import type { Research, ResearchContext, ResearchRequest, ResearchStep } from '../../core/research.ts';

/** What may go well a little later. */
const PASSING: ReadonlySet<ErrorKind> = new Set([
  'rate-limited',
  'overloaded',
  'timeout',
  'upstream-failed',
  'engine-failed',
]);

/** Ours: how often in a row a step is tried again; ms before the first time, doubled with each, and at most. */
const STEP_TRIES_MAX = 5;
const STEP_PAUSE_MS = 1_000;
const STEP_PAUSE_MS_MAX = 60_000;

export type Pause = (ms: number, signal: AbortSignal) => Promise<unknown>;

/** The steps of a run, where one that fails for now is tried again: what was done before it is not done again. */
export async function* steadySteps(
  research: Pick<Research, 'run'>,
  request: ResearchRequest,
  { context, pause }: { readonly context: ResearchContext; readonly pause: Pause },
): AsyncGenerator<ResearchStep, void> {
  const past: ResearchStep[] = [];
  for (let failures = 0; ; failures += 1) {
    try {
      for await (const step of research.run(request, [...past], context)) {
        past.push(step);
        failures = 0;
        yield step;
      }
      return;
    } catch (error) {
      context.signal.throwIfAborted();
      const { kind, retryAfterSeconds = 0 } = ServiceError.from(error);
      const pauseMs = Math.max(STEP_PAUSE_MS * 2 ** failures, retryAfterSeconds * 1_000);
      if (!PASSING.has(kind) || failures >= STEP_TRIES_MAX || pauseMs > STEP_PAUSE_MS_MAX) throw error;
      await pause(pauseMs, context.signal);
    }
  }
}
