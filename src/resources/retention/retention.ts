import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { OPERATOR_PAGE_MAX, RETENTION_LOOK_MS } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Every } from '../../lib/every.ts';
import { startSweeper, type Sweeper } from '../../lib/sweeper.ts';
import type { Store } from '../../store/store.ts';
import { removeConversation, removeResponse } from '../conversations/remove.ts';

export interface RetentionNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Days after its last change until a conversation goes; undefined: it stays. */
  readonly conversationsDays: number | undefined;
  /** Days after its making until a response goes; undefined: it stays. */
  readonly responsesDays: number | undefined;
  readonly every?: Every;
}

const DAY_MS = 86_400_000;

/** Removes what has passed its age, now and every hour: beside the requests, never in one. */
export function startRetention(needs: RetentionNeeds): Sweeper {
  const { log, conversationsDays, responsesDays, every } = needs;
  if (conversationsDays === undefined && responsesDays === undefined) return { close: () => Promise.resolve() };
  return startSweeper({
    everyMs: RETENTION_LOOK_MS,
    sweep: (isOver) => sweep(needs, isOver),
    onFailure: (error) => log.warn('what has passed its age could not be removed', { error: String(error) }),
    every,
  });
}

async function sweep(
  { store, clock, log, conversationsDays, responsesDays }: RetentionNeeds,
  isOver: () => boolean,
): Promise<void> {
  let conversations = 0;
  if (conversationsDays !== undefined) {
    const before = clock.now() - conversationsDays * DAY_MS;
    conversations = await removeAll(
      () => store.conversations.listUnchanged({ before, now: clock.now(), limit: OPERATOR_PAGE_MAX }),
      (record) => removeConversation(store, record, { unchangedBefore: before }),
      isOver,
    );
  }
  let responses = 0;
  if (responsesDays !== undefined) {
    const before = clock.now() - responsesDays * DAY_MS;
    responses = await removeAll(
      () => store.responses.listOlder({ before, limit: OPERATOR_PAGE_MAX }),
      (link) => removeResponse(store, link),
      isOver,
    );
    // What is left of those that were made while nobody waited ended without an answer, or has none yet.
    responses += await removeAll(
      () => store.background.listOlder({ before, limit: OPERATOR_PAGE_MAX }),
      (link) => removeResponse(store, link),
      isOver,
    );
  }
  if (conversations + responses > 0) log.info('removed what has passed its age', { conversations, responses });
}

/** Page by page until there is none; in between, whoever waits has its turn. */
async function removeAll<T>(
  list: () => Promise<readonly T[]>,
  remove: (one: T) => Promise<boolean>,
  isOver: () => boolean,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const page = isOver() ? [] : await list();
    if (page.length === 0) return removed;
    for (const one of page) {
      if (isOver()) return removed;
      if (await remove(one)) removed += 1;
      await turnOfOthers();
    }
  }
}
