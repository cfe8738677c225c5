import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Ids } from '../../core/id.ts';
import { BACKGROUND_UNFINISHED_MAX } from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { every as systemEvery, type Every } from '../../lib/every.ts';
import type { RunRecord } from '../../store/background.ts';
import type { Store, Tables } from '../../store/store.ts';
import { noResponse } from '../conversations/not-there.ts';
import type { JobBell } from '../jobs/job-bell.ts';
import { newJob } from '../jobs/new-job.ts';
import type { BackgroundResponses, Change, TellChange } from './background.ts';
import { advanceRun, endRun } from './end-run.ts';
import { readHistory } from './history.ts';
import { lockedBy } from './lease.ts';
import type { RunBell } from './run-bell.ts';
import { runningResponse } from './running-response.ts';
import { eventsGone, tail } from './tail.ts';

export interface BackgroundNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly tellChange: TellChange;
  readonly bell: RunBell;
  readonly jobBell: Pick<JobBell, 'ring'>;
  readonly every?: Every;
}

/** Somebody waits for them after all: before batches. */
const JOB_PRIORITY = 1;

export function createBackgroundResponses({
  store,
  clock,
  ids,
  tellChange,
  bell,
  jobBell,
  every = systemEvery,
}: BackgroundNeeds): BackgroundResponses {
  /** What the change tells: the object, and where events are told, the next of them. */
  const told = ({ json = '', isStreamed, lastSequence }: RunRecord, change: Change) => {
    const first = lastSequence + 1;
    const { json: changed, event } = tellChange(json, change, first);
    return { state: change.status, json: changed, events: isStreamed ? { first, texts: [event] } : undefined };
  };

  /** Ends it without an answer. @returns it as it was before; undefined where it was not there to be ended. */
  const end = async (
    find: (tables: Tables) => Promise<RunRecord | undefined>,
    change: Change,
    { attempt, andThen }: { attempt?: number | undefined; andThen?: (tables: Tables) => Promise<void> } = {},
  ): Promise<RunRecord | undefined> => {
    for (;;) {
      const seen = await store.transaction(async (tables) => {
        const run = await find(tables);
        if (!run || run.endedAt !== undefined || (attempt !== undefined && run.attempt > attempt)) return undefined;
        const isEnded = await endRun(tables, run.id, { ...told(run, change), at: clock.now() });
        if (isEnded) await andThen?.(tables);
        return { run, isEnded };
      });
      // Otherwise an event came between the look and the change: it is looked at again.
      if (seen?.isEnded !== false) return seen?.run;
    }
  };

  const cancel = async (id: string, find: (tables: Tables) => Promise<RunRecord | undefined>): Promise<void> => {
    const ended = await end(
      find,
      { status: 'cancelled' },
      {
        async andThen({ jobs }) {
          const job = await jobs.findBySubject('response', id);
          if (job) await jobs.cancel(job.id, clock.now());
        },
      },
    );
    if (!ended) return;
    bell.ring(id, 'ended');
    jobBell.ring('cancelled');
  };

  return {
    async look(owner, wish) {
      const before = await readHistory(store, owner, wish);
      const { conversation } = wish;
      const until = conversation === undefined ? undefined : await store.conversations.turnUntil(owner, conversation);
      if (conversation !== undefined && until !== undefined && until > clock.now()) throw lockedBy(conversation);
      return before;
    },

    async enqueue(owner, { id, conversation, previous, body, json, events }) {
      const { region, workspace, keyId } = owner;
      await store.transaction(async (tables) => {
        if ((await tables.background.countUnfinished(keyId)) >= BACKGROUND_UNFINISHED_MAX) throw tooMany();
        await tables.background.insert({
          id,
          region,
          workspace,
          keyId,
          state: 'queued',
          attempt: 0,
          isStreamed: events !== undefined,
          lastSequence: (events?.length ?? 0) - 1,
          eventChars: events?.reduce((sum, event) => sum + event.length, 0) ?? 0,
          eventsUntil: undefined,
          conversation,
          previous,
          createdAt: clock.now(),
          endedAt: undefined,
          json,
          body,
        });
        if (events) await tables.responseEvents.insert(id, { first: 0, texts: events });
        const wish = { kind: 'response', subject: id, owner, payload: {}, priority: JOB_PRIORITY } as const;
        await tables.jobs.insert(newJob(wish, { ids, clock }));
      });
      jobBell.ring('due');
    },

    async cancel(owner, id) {
      await cancel(id, ({ background }) => background.find(owner, id));
      const run = await store.background.find(owner, id);
      const json = run?.json ?? (await store.responses.find(owner, id))?.json ?? noResponse(id);
      if (!run) throw new ServiceError('unsupported', 'Only background responses can be cancelled');
      return json;
    },

    async tail(owner, id, after) {
      const run = await store.background.find(owner, id);
      if (!run && !(await store.responses.find(owner, id))) noResponse(id);
      if (!run?.isStreamed) {
        throw new ServiceError(
          'unsupported',
          'Only background responses that were created with stream=true can be streamed again',
          { param: 'stream' },
        );
      }
      if (run.endedAt !== undefined && (run.eventsUntil ?? 0) <= clock.now()) throw eventsGone(id);
      return tail({ store, bell, every }, id, after);
    },

    async findWaiting(id) {
      const run = await store.background.findAnywhere(id);
      if (run?.body === undefined || run.endedAt !== undefined) return undefined;
      return {
        id,
        owner: ownerOf(run),
        body: JSON.parse(run.body),
        createdAt: run.createdAt,
        isStreamed: run.isStreamed,
        isBroken: run.lastSequence > LAST_BEFORE_ANSWER,
      };
    },

    async begin(id, attempt, abort) {
      const run = await store.transaction(async (tables) => {
        const found = await tables.background.findAnywhere(id);
        if (!found) return undefined;
        // Where an earlier attempt has told that it began, it is not told again.
        const isNews = found.state === 'queued';
        const change = isNews
          ? told(found, { status: 'in_progress' })
          : { state: 'in_progress' as const, events: undefined };
        return (await advanceRun(tables, id, { ...change, attempt, isBegin: true })) ? found : undefined;
      });
      if (!run) throw new ServiceError('cancelled', `Response '${id}' was ended before its answer began.`);
      bell.ring(id, 'told');
      const { isStreamed, lastSequence, eventChars, state } = run;
      const first = lastSequence + (state === 'queued' && isStreamed ? 2 : 1);
      return runningResponse({ store, clock, bell, every }, { id, attempt, isStreamed, first, eventChars, abort });
    },

    async fail(id, error, attempt) {
      const find = ({ background }: Tables) => background.findAnywhere(id);
      if (await end(find, { status: 'failed', error }, { attempt })) bell.ring(id, 'ended');
    },

    cancelWaiting: (id) => cancel(id, ({ background }) => background.findAnywhere(id)),
  };
}

/** `created`, `queued` and `in_progress`: what comes behind them is part of an answer. */
const LAST_BEFORE_ANSWER = 2;

const ownerOf = ({ region, workspace, keyId }: RunRecord): Owner => ({ region, workspace, keyId });

const tooMany = (): ServiceError =>
  new ServiceError(
    'rate-limited',
    `This key has ${BACKGROUND_UNFINISHED_MAX} background responses that have not ended: more are taken when one of them has.`,
    { param: 'background' },
  );
