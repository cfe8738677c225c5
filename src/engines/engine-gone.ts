import { ServiceError } from '../core/error.ts';
import type { EngineEvent } from '../core/event.ts';
import type { EngineStart } from './engine.ts';

/** Thrown when the process of an engine went away: what has said nothing yet may be asked once more. */
export class EngineGoneError extends ServiceError {
  constructor(cause: unknown) {
    super('engine-failed', 'The engine stopped while it worked on this request.', { cause });
  }
}

/** For calls that have one answer: what a dying process took with it is asked once more. */
export async function askAgain<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof EngineGoneError)) throw error;
    return await ask();
  }
}

/** A run whose process dies before it said anything is started once more. */
export async function startAgain(start: () => Promise<EngineStart>): Promise<EngineStart> {
  let started: EngineStart;
  try {
    started = await start();
  } catch (error) {
    if (!(error instanceof EngineGoneError)) throw error;
    return await start();
  }
  return { ...started, batches: retryUnspoken(started.batches, start) };
}

async function* retryUnspoken(
  batches: AsyncIterable<readonly EngineEvent[]>,
  again: () => Promise<EngineStart>,
): AsyncGenerator<readonly EngineEvent[], void> {
  let hasSpoken = false;
  try {
    for await (const batch of batches) {
      hasSpoken = true;
      yield batch;
    }
    return;
  } catch (error) {
    if (hasSpoken || !(error instanceof EngineGoneError)) throw error;
  }
  yield* (await again()).batches;
}

/**
 * The same batches; their failure goes through `fail`, which says what it really was.
 * @param onBatch Hears of each before its reader.
 */
export async function* failingWith<T>(
  batches: AsyncIterable<T>,
  fail: (error: unknown) => Promise<never>,
  onBatch: () => void = () => undefined,
): AsyncGenerator<T, void> {
  try {
    for await (const batch of batches) {
      onBatch();
      yield batch;
    }
  } catch (error) {
    await fail(error);
  }
}
