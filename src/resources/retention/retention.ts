import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { OPERATOR_PAGE_MAX, RETENTION_INTERVAL_MS } from '../limits.ts';
import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { StartInterval } from '../../lib/start-interval.ts';
import { startPeriodicTask, type PeriodicTask } from '../../lib/periodic-task.ts';
import type { Store } from '../../store/store.ts';
import type { TenantScope } from '../../store/tenant-scope.ts';
import { removeConversation, removeResponse } from '../conversations/remove.ts';

export interface RetentionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly periods: RetentionPeriods;
  /** Deletes a file as its owner would. */
  readonly deleteFile: (owner: Owner, id: string) => Promise<void>;
  readonly startInterval?: StartInterval;
}

/** Days that objects are kept; 0: until they are deleted. */
export interface RetentionPeriods {
  /** After the last change of a conversation. */
  readonly conversationsDays: number;
  /** After the creation of a response, or of the last one of its chain. */
  readonly responsesDays: number;
  /** After the end of a batch. */
  readonly batchesDays: number;
  /** After the creation of a file, unless a batch that has not ended reads it. */
  readonly filesDays: number;
  /** After a key was revoked or expired. */
  readonly keysDays: number;
}

const DAY_MS = 86_400_000;

/** Removes what exceeds its retention: at start and every hour, outside of requests. */
export function startRetention(deps: RetentionDeps): PeriodicTask {
  const { log, startInterval } = deps;
  return startPeriodicTask({
    intervalMs: RETENTION_INTERVAL_MS,
    run: (isClosed) => removeOld(deps, isClosed),
    onFailure: (error) => log.warn('retention cleanup failed', { error: String(error) }),
    startInterval,
  });
}

async function removeOld(
  { store, clock, log, periods, deleteFile }: RetentionDeps,
  isClosed: () => boolean,
): Promise<void> {
  /** Runs a removal with the time before which objects are removed, unless they are kept. */
  const removeBefore = async (days: number, remove: (before: number) => Promise<number>): Promise<number> =>
    days === 0 ? 0 : await remove(clock.now() - days * DAY_MS);
  const limit = OPERATOR_PAGE_MAX;
  const removed = {
    conversations: await removeBefore(periods.conversationsDays, (before) =>
      removeAll(
        () => store.conversations.listUnchanged({ before, now: clock.now(), limit }),
        (record) => removeConversation(store, record, { unchangedBefore: before }),
        isClosed,
      ),
    ),
    responses: await removeBefore(periods.responsesDays, async (before) => {
      const remove = (link: TenantScope & { readonly id: string }) => removeResponse(store, link);
      const responses = await removeAll(() => store.responses.listUnneededBefore({ before, limit }), remove, isClosed);
      // Background runs that remain have no answer, either because they ended without one or still wait.
      return (
        responses + (await removeAll(() => store.background.listUnneededBefore({ before, limit }), remove, isClosed))
      );
    }),
    batches: await removeBefore(periods.batchesDays, (before) =>
      removeAll(
        () => store.batches.listEndedBefore({ before, limit }),
        (id) => removeBatch(store, id),
        isClosed,
      ),
    ),
    files: await removeBefore(periods.filesDays, (before) =>
      removeAll(
        () => store.files.listCreatedBefore({ before, limit }),
        ({ region, workspace, keyId, id }) => tryDeleteFile(deleteFile, { region, workspace, keyId }, id),
        isClosed,
      ),
    ),
    keys: await removeBefore(periods.keysDays, (before) => removeKeys(store, before, isClosed)),
  };
  if (Object.values(removed).some((count) => count > 0)) log.info('retention cleanup finished', removed);
}

/** Removes the row of an ended batch and its job. Its files belong to the workspace and stay. */
const removeBatch = (store: Store, id: string): Promise<boolean> =>
  store.transaction(
    async ({ batches, jobs }) => {
      const isRemoved = await batches.removeEnded(id);
      if (isRemoved) await jobs.remove('batch', id);
      return isRemoved;
    },
    { usesReserve: true },
  );

/** Deletes a file. Returns false if it is gone, or a batch has begun to read it: then the next list lacks it. */
async function tryDeleteFile(deleteFile: RetentionDeps['deleteFile'], owner: Owner, id: string): Promise<boolean> {
  try {
    await deleteFile(owner, id);
    return true;
  } catch (thrown) {
    const { kind } = ServiceError.from(thrown);
    if (kind === 'conflict' || kind === 'file-not-found') return false;
    throw thrown;
  }
}

async function removeKeys(store: Store, before: number, isClosed: () => boolean): Promise<number> {
  for (let removed = 0; ;) {
    if (isClosed()) return removed;
    const count = await store.keys.removeEnded({ before, limit: OPERATOR_PAGE_MAX });
    removed += count;
    if (count < OPERATOR_PAGE_MAX) return removed;
    await yieldToEventLoop();
  }
}

/** Removes page by page and yields to the event loop after each record. */
async function removeAll<T>(
  list: () => Promise<readonly T[]>,
  remove: (record: T) => Promise<boolean>,
  isClosed: () => boolean,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const page = isClosed() ? [] : await list();
    if (page.length === 0) return removed;
    for (const record of page) {
      if (isClosed()) return removed;
      if (await remove(record)) removed += 1;
      await yieldToEventLoop();
    }
  }
}
