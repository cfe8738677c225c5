import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { OPERATOR_PAGE_MAX, RETENTION_INTERVAL_MS } from '../limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { StartInterval } from '../../lib/start-interval.ts';
import { startPeriodicTask, type PeriodicTask } from '../../lib/periodic-task.ts';
import type { Store } from '../../store/store.ts';
import { removeConversation, removeResponse } from '../conversations/remove.ts';

export interface RetentionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Days after its last change until a conversation is removed; undefined: never. */
  readonly conversationsDays: number | undefined;
  /** Days after its creation until a response is removed; undefined: never. */
  readonly responsesDays: number | undefined;
  readonly startInterval?: StartInterval;
}

const DAY_MS = 86_400_000;

/** Removes conversations and responses that exceed their retention: at start and every hour, outside of requests. */
export function startRetention(deps: RetentionDeps): PeriodicTask {
  const { log, conversationsDays, responsesDays, startInterval } = deps;
  if (conversationsDays === undefined && responsesDays === undefined) return { close: () => Promise.resolve() };
  return startPeriodicTask({
    intervalMs: RETENTION_INTERVAL_MS,
    run: (isClosed) => removeOld(deps, isClosed),
    onFailure: (error) => log.warn('retention cleanup failed', { error: String(error) }),
    startInterval,
  });
}

async function removeOld(
  { store, clock, log, conversationsDays, responsesDays }: RetentionDeps,
  isClosed: () => boolean,
): Promise<void> {
  let conversations = 0;
  if (conversationsDays !== undefined) {
    const before = clock.now() - conversationsDays * DAY_MS;
    conversations = await removeAll(
      () => store.conversations.listUnchanged({ before, now: clock.now(), limit: OPERATOR_PAGE_MAX }),
      (record) => removeConversation(store, record, { unchangedBefore: before }),
      isClosed,
    );
  }
  let responses = 0;
  if (responsesDays !== undefined) {
    const before = clock.now() - responsesDays * DAY_MS;
    responses = await removeAll(
      () => store.responses.listCreatedBefore({ before, limit: OPERATOR_PAGE_MAX }),
      (link) => removeResponse(store, link),
      isClosed,
    );
    // Background runs that remain have no answer, either because they ended without one or still wait.
    responses += await removeAll(
      () => store.background.listCreatedBefore({ before, limit: OPERATOR_PAGE_MAX }),
      (link) => removeResponse(store, link),
      isClosed,
    );
  }
  if (conversations + responses > 0) log.info('retention cleanup finished', { conversations, responses });
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
