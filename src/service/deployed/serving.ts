import { ServiceError } from '../../core/error.ts';
import type { EngineRequest, EngineStart, TextEngine } from '../../engines/engine.ts';
import type { Lease } from '../../engines/registry.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import { lentEngine } from './lent-engine.ts';

/** An engine that calls are put to until another one takes its place. */
export interface Serving {
  lease(): Lease;
  /** No lease is given any more. Resolves when the last one has ended, or was cut off, and the engine is closed. */
  retire(): Promise<void>;
  /** Whatever goes on is broken off now. */
  cut(): void;
}

export interface ServingNeeds {
  readonly engine: TextEngine;
  /** Name of its deployment, for callers who are cut off. */
  readonly name: string;
  /** How long calls may go on after it was retired, in ms. */
  readonly drainMs: number;
  close(): Promise<void>;
}

export function createServing({ engine, name, drainMs, close }: ServingNeeds): Serving {
  const cut = new AbortController();
  const shown = cutWith(engine, cut.signal);
  const idle = Promise.withResolvers<void>();
  let leases = 0;
  let retiring: Promise<void> | undefined;

  const cutOff = (why: string): void => {
    cut.abort(new ServiceError('engine-failed', why));
    idle.resolve();
  };

  const end = async (): Promise<void> => {
    if (leases === 0) idle.resolve();
    const why = `Deployment ${name} was scaled or deleted ${drainMs / 1000} s ago, and this answer had not ended.`;
    const late = setTimeout(() => cutOff(why), drainMs);
    await idle.promise;
    clearTimeout(late);
    await close();
  };

  return {
    lease() {
      leases++;
      let isReleased = false;
      return {
        engine: shown,
        release() {
          if (isReleased) return;
          isReleased = true;
          leases--;
          if (retiring && leases === 0) idle.resolve();
        },
      };
    },
    retire: () => (retiring ??= end()),
    cut: () => cutOff('The service ends.'),
  };
}

/** The same engine, whose answers break off with the signal's reason. */
function cutWith(engine: TextEngine, cut: AbortSignal): TextEngine {
  const start = async (request: EngineRequest, signal: AbortSignal): Promise<EngineStart> => {
    cut.throwIfAborted();
    const run = linkedAbort(signal);
    const onCut = (): void => run.abort(cut.reason);
    cut.addEventListener('abort', onCut, { once: true });
    const over = (): void => {
      cut.removeEventListener('abort', onCut);
      run.unlink();
    };
    try {
      const started = await engine.start(request, run.signal);
      return { ...started, batches: through(started.batches, { cut, over }) };
    } catch (error) {
      over();
      throw error;
    }
  };
  return lentEngine(engine, start);
}

async function* through(
  batches: EngineStart['batches'],
  { cut, over }: { readonly cut: AbortSignal; readonly over: () => void },
): EngineStart['batches'] & AsyncGenerator {
  try {
    yield* batches;
  } catch (error) {
    // Whatever its end was to the engine: the caller hears why it ended.
    throw cut.aborted ? cut.reason : error;
  } finally {
    over();
  }
}
