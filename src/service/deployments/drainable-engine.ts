import { ServiceError, SHUTTING_DOWN_MESSAGE } from '../../core/error.ts';
import type { EngineRequest, EngineRun, TextEngine } from '../../engines/engine.ts';
import type { EngineLease } from '../../engines/engine-registry.ts';
import { createLinkedAbort } from '../../lib/linked-abort.ts';
import { createEngineView } from './engine-view.ts';

/** An engine that takes calls until another one replaces it. */
export interface DrainableEngine {
  lease(): EngineLease;
  /** Gives no more leases. Resolves when the last lease is released, or the drain time is over, and the engine is closed. */
  retire(): Promise<void>;
  /** Aborts running calls now. */
  abort(): void;
}

export interface DrainableEngineDeps {
  readonly engine: TextEngine;
  /** Name of the deployment, for the error message of aborted calls. */
  readonly name: string;
  /** How long calls may continue after `retire`, in ms. */
  readonly drainMs: number;
  close(): Promise<void>;
}

export function createDrainableEngine({ engine, name, drainMs, close }: DrainableEngineDeps): DrainableEngine {
  const aborting = new AbortController();
  const abortableEngine = createAbortableEngine(engine, aborting.signal);
  const idle = Promise.withResolvers<void>();
  let leases = 0;
  let retiring: Promise<void> | undefined;

  const abortCalls = (message: string): void => {
    aborting.abort(new ServiceError('engine-failed', message));
    idle.resolve();
  };

  const drain = async (): Promise<void> => {
    if (leases === 0) idle.resolve();
    const message = `Deployment ${name} was scaled or deleted ${drainMs / 1000} s ago, and this response was not complete within that time.`;
    const timer = setTimeout(() => abortCalls(message), drainMs);
    await idle.promise;
    clearTimeout(timer);
    await close();
  };

  return {
    lease() {
      leases++;
      let isReleased = false;
      return {
        engine: abortableEngine,
        release() {
          if (isReleased) return;
          isReleased = true;
          leases--;
          if (retiring && leases === 0) idle.resolve();
        },
      };
    },
    retire: () => (retiring ??= drain()),
    abort: () => abortCalls(SHUTTING_DOWN_MESSAGE),
  };
}

/** Returns a view of the engine whose calls abort with the signal's reason. */
function createAbortableEngine(engine: TextEngine, abortSignal: AbortSignal): TextEngine {
  const start = async (request: EngineRequest, signal: AbortSignal): Promise<EngineRun> => {
    abortSignal.throwIfAborted();
    const run = createLinkedAbort(signal, abortSignal);
    try {
      const started = await engine.start(request, run.signal);
      return { ...started, batches: relayBatches(started.batches, { abortSignal, onFinished: run.unlink }) };
    } catch (error) {
      run.unlink();
      throw error;
    }
  };
  return createEngineView(engine, start);
}

async function* relayBatches(
  batches: EngineRun['batches'],
  { abortSignal, onFinished }: { readonly abortSignal: AbortSignal; readonly onFinished: () => void },
): EngineRun['batches'] & AsyncGenerator {
  try {
    yield* batches;
  } catch (error) {
    // The caller gets the reason of the abort, whatever error the engine reported.
    throw abortSignal.aborted ? abortSignal.reason : error;
  } finally {
    onFinished();
  }
}
