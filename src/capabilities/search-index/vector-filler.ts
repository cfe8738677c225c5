import type { Log } from '../../core/telemetry.ts';
import type { Store } from '../../store/store.ts';
import { fillVectors } from './fill-vectors.ts';
import { INDEX_VECTOR_CHECK_MS } from './limits.ts';
import type { EmbedTexts } from './search-index.ts';

export interface VectorFillerDeps {
  readonly store: Store;
  /** Embeds in the background: requests of callers come first. */
  readonly embed: EmbedTexts;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Time in ms between two checks. */
  readonly checkMs?: number;
}

/** Computes missing vectors of the local index while the service runs. */
export interface VectorFiller {
  close(): Promise<void>;
}

/**
 * Starts to look for documents without vectors, again and again. A collection is filled at its second check at the
 * earliest, and not if its missing vectors became fewer since the last check: then another process is at work on it.
 */
export function startVectorFiller({
  store,
  embed,
  log,
  checkMs = INDEX_VECTOR_CHECK_MS,
}: VectorFillerDeps): VectorFiller {
  const stop = new AbortController();
  const missingByCollection = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  const fillCollection = async (name: string): Promise<void> => {
    const { documents, vectors } = await store.indexCollections.getTotals(name);
    const missing = documents - vectors;
    const isStalled = missing > 0 && missing >= (missingByCollection.get(name) ?? Infinity);
    missingByCollection.set(name, missing);
    if (!isStalled) return;
    const filled = await fillVectors(
      name,
      {
        store,
        embed,
        onSkip: ({ id }, reason) =>
          log.warn('a document of the local index cannot be embedded, and is found by words only', {
            collection: name,
            document: id,
            reason,
          }),
      },
      { signal: stop.signal },
    );
    if (filled !== undefined && filled > 0)
      log.info('vectors of the local index computed', { collection: name, filled });
  };

  const runLogged = async (step: () => Promise<void>): Promise<void> => {
    try {
      await step();
    } catch (error) {
      if (stop.signal.aborted) return;
      log.warn('computing vectors of the local index failed', {
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  };

  const check = async (): Promise<void> => {
    await runLogged(async () => {
      for (const { name } of await store.indexCollections.list()) {
        if (stop.signal.aborted) return;
        // A collection that fails must not keep later ones waiting.
        await runLogged(() => fillCollection(name));
      }
    });
    schedule();
  };
  const schedule = (): void => {
    if (stop.signal.aborted) return;
    timer = setTimeout(() => void (running = check()), checkMs).unref();
  };
  schedule();

  return {
    async close() {
      stop.abort(new Error('the service stops'));
      clearTimeout(timer);
      await running;
    },
  };
}
