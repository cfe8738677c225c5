import { ServiceError } from '../core/error.ts';
import type { EngineEvent } from '../core/event.ts';
import type { EngineRun } from './engine.ts';

/** Thrown when the process of an engine has ended. Work that has produced no output may be tried once more. */
export class EngineGoneError extends ServiceError {
  constructor(cause: unknown) {
    super('engine-failed', 'The engine stopped while it worked on this request.', { cause });
  }
}

/** Runs a call with a single result, and repeats it once if the engine process ended meanwhile. */
export async function retryWhenEngineGone<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof EngineGoneError)) throw error;
    return await call();
  }
}

/** Starts a run, and starts it once more if the engine process ends before the first output. */
export async function startWithRetry(start: () => Promise<EngineRun>): Promise<EngineRun> {
  let started: EngineRun;
  try {
    started = await start();
  } catch (error) {
    if (!(error instanceof EngineGoneError)) throw error;
    return await start();
  }
  return { ...started, batches: retryBeforeOutput(started.batches, start) };
}

async function* retryBeforeOutput(
  batches: AsyncIterable<readonly EngineEvent[]>,
  restart: () => Promise<EngineRun>,
): AsyncGenerator<readonly EngineEvent[], void> {
  let hasOutput = false;
  try {
    for await (const batch of batches) {
      hasOutput = true;
      yield batch;
    }
    return;
  } catch (error) {
    if (hasOutput || !(error instanceof EngineGoneError)) throw error;
  }
  yield* (await restart()).batches;
}

/**
 * Yields the same batches. Passes an iteration error to `handleError`, which rejects with the actual cause.
 * @param onBatch Called for each batch before its consumer receives it.
 */
export async function* withErrorHandler<T>(
  batches: AsyncIterable<T>,
  handleError: (error: unknown) => Promise<never>,
  onBatch: () => void = () => undefined,
): AsyncGenerator<T, void> {
  try {
    for await (const batch of batches) {
      onBatch();
      yield batch;
    }
  } catch (error) {
    await handleError(error);
  }
}
