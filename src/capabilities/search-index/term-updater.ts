import type { Log } from '../../core/telemetry.ts';
import type { Store } from '../../store/store.ts';
import { INDEX_FORMAT } from './index-passages.ts';
import { updateTerms } from './update-terms.ts';

export interface TermUpdaterDeps {
  readonly store: Pick<Store, 'indexDocuments' | 'transaction'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** Updates the search terms of documents that an earlier version indexed. */
export interface TermUpdater {
  /** Resolves when the update has ended, failed or was stopped. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

/** Starts the update, once: a failure is logged, and the next start of the service goes on with the rest. */
export function startTermUpdater({ store, log }: TermUpdaterDeps): TermUpdater {
  const stop = new AbortController();
  const { signal } = stop;

  const run = async (): Promise<void> => {
    try {
      const documents = await store.indexDocuments.countOutdated({ termFormat: INDEX_FORMAT });
      if (documents === 0) return;
      log.warn(
        'documents of the local index have terms of an earlier version, and are not found by all of their words',
        {
          documents,
        },
      );
      log.info('terms of the local index updated', { documents: await updateTerms({ store, signal }) });
    } catch (error) {
      if (signal.aborted) return;
      log.warn('updating terms of the local index failed', {
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  };
  const ended = run();
  return {
    ended,
    async close() {
      stop.abort(new Error('the service stops'));
      await ended;
    },
  };
}
