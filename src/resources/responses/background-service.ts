import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { IdGenerator } from '../../core/id.ts';
import { BACKGROUND_UNFINISHED_MAX } from './limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { startInterval as startSystemInterval, type StartInterval } from '../../lib/start-interval.ts';
import type { BackgroundRunRecord } from '../../store/background.ts';
import type { Store, Tables } from '../../store/store.ts';
import { throwResponseNotFound } from '../conversations/not-found.ts';
import type { JobNotifier } from '../jobs/job-notifier.ts';
import { createJob } from '../jobs/create-job.ts';
import type { BackgroundResponses, StatusChange, EncodeStatusChange } from './background.ts';
import { advanceRun, finishRun } from './run-transition.ts';
import { readHistory } from './history.ts';
import { createConversationLockedError } from './turn-lease.ts';
import type { RunNotifier } from './run-notifier.ts';
import { createRunningResponse } from './running-response.ts';
import { createEventsExpiredError, tailEvents } from './tail-events.ts';

export interface BackgroundResponsesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly encodeStatusChange: EncodeStatusChange;
  readonly notifier: RunNotifier;
  readonly jobNotifier: Pick<JobNotifier, 'notify'>;
  readonly startInterval?: StartInterval;
}

/** Before batches, because a client usually polls for the response. */
const JOB_PRIORITY = 1;

export function createBackgroundResponses({
  store,
  clock,
  ids,
  encodeStatusChange,
  notifier,
  jobNotifier,
  startInterval = startSystemInterval,
}: BackgroundResponsesDeps): BackgroundResponses {
  /** Encodes a status change as the new response object and, for a streamed run, the next event. */
  const encodeChange = ({ json = '', isStreamed, lastSequence }: BackgroundRunRecord, change: StatusChange) => {
    const first = lastSequence + 1;
    const { json: newJson, event } = encodeStatusChange(json, change, first);
    return { state: change.status, json: newJson, events: isStreamed ? { first, texts: [event] } : undefined };
  };

  /** Ends a run without an answer. @returns the run before the change; undefined if it did not exist or had ended. */
  const finishWithoutAnswer = async (
    find: (tables: Tables) => Promise<BackgroundRunRecord | undefined>,
    change: StatusChange,
    { attempt, alsoDo }: { attempt?: number | undefined; alsoDo?: (tables: Tables) => Promise<void> } = {},
  ): Promise<BackgroundRunRecord | undefined> => {
    for (;;) {
      const attempted = await store.transaction(async (tables) => {
        const run = await find(tables);
        if (!run || run.endedAt !== undefined || (attempt !== undefined && run.attempt > attempt)) return undefined;
        const isFinished = await finishRun(tables, run.id, { ...encodeChange(run, change), at: clock.now() });
        if (isFinished) await alsoDo?.(tables);
        return { run, isFinished };
      });
      // Otherwise an event was stored between the read and the change: try again.
      if (attempted?.isFinished !== false) return attempted?.run;
    }
  };

  const cancelFound = async (
    id: string,
    find: (tables: Tables) => Promise<BackgroundRunRecord | undefined>,
  ): Promise<void> => {
    const canceledRun = await finishWithoutAnswer(
      find,
      { status: 'cancelled' },
      {
        async alsoDo({ jobs }) {
          const job = await jobs.findBySubject('response', id);
          if (job) await jobs.cancel(job.id, clock.now());
        },
      },
    );
    if (!canceledRun) return;
    notifier.notify(id, 'ended');
    jobNotifier.notify('cancelled');
  };

  return {
    async checkTurn(owner, request) {
      const history = await readHistory(store, owner, request);
      const { conversation } = request;
      const lockedUntil =
        conversation === undefined ? undefined : await store.conversations.getTurnLeaseUntil(owner, conversation);
      if (conversation !== undefined && lockedUntil !== undefined && lockedUntil > clock.now())
        throw createConversationLockedError(conversation);
      return history;
    },

    async enqueue(owner, { id, conversation, previous, body, json, events }) {
      const { region, workspace, keyId } = owner;
      await store.transaction(async (tables) => {
        if ((await tables.background.countUnfinished(keyId)) >= BACKGROUND_UNFINISHED_MAX) throw tooManyRunsError();
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
        const jobRequest = { kind: 'response', subject: id, owner, payload: {}, priority: JOB_PRIORITY } as const;
        await tables.jobs.insert(createJob(jobRequest, { ids, clock }));
      });
      jobNotifier.notify('due');
    },

    async cancel(owner, id) {
      await cancelFound(id, ({ background }) => background.find(owner, id));
      const run = await store.background.find(owner, id);
      const json = run?.json ?? (await store.responses.find(owner, id))?.json ?? throwResponseNotFound(id);
      if (!run) throw new ServiceError('unsupported', 'Only background responses can be cancelled');
      return json;
    },

    async tail(owner, id, after) {
      const run = await store.background.find(owner, id);
      if (!run && !(await store.responses.find(owner, id))) throwResponseNotFound(id);
      if (!run?.isStreamed) {
        throw new ServiceError(
          'unsupported',
          'Only background responses that were created with stream=true can be streamed again',
          { param: 'stream' },
        );
      }
      if (run.endedAt !== undefined && (run.eventsUntil ?? 0) <= clock.now()) throw createEventsExpiredError(id);
      return tailEvents({ store, notifier, startInterval }, id, after);
    },

    async findPending(id) {
      const run = await store.background.findInAnyTenant(id);
      if (run?.body === undefined || run.endedAt !== undefined) return undefined;
      return {
        id,
        owner: getOwner(run),
        body: JSON.parse(run.body),
        createdAt: run.createdAt,
        isStreamed: run.isStreamed,
        hasPartialAnswer: run.lastSequence > LAST_SEQUENCE_BEFORE_ANSWER,
      };
    },

    async start(id, attempt, abort) {
      const run = await store.transaction(async (tables) => {
        const found = await tables.background.findInAnyTenant(id);
        if (!found) return undefined;
        // A later attempt does not report `in_progress` again.
        const isFirstStart = found.state === 'queued';
        const change = isFirstStart
          ? encodeChange(found, { status: 'in_progress' })
          : { state: 'in_progress' as const, events: undefined };
        return (await advanceRun(tables, id, { ...change, attempt, isStart: true })) ? found : undefined;
      });
      if (!run)
        throw new ServiceError('cancelled', `Response '${id}' was cancelled or deleted before its answer started.`);
      notifier.notify(id, 'updated');
      const { isStreamed, lastSequence, eventChars, state } = run;
      const first = lastSequence + (state === 'queued' && isStreamed ? 2 : 1);
      return createRunningResponse(
        { store, clock, notifier, startInterval },
        { id, attempt, isStreamed, firstSequence: first, eventChars, abort },
      );
    },

    async fail(id, error, attempt) {
      const find = ({ background }: Tables) => background.findInAnyTenant(id);
      if (await finishWithoutAnswer(find, { status: 'failed', error }, { attempt })) notifier.notify(id, 'ended');
    },

    cancelRun: (id) => cancelFound(id, ({ background }) => background.findInAnyTenant(id)),
  };
}

/** Events 0 to 2 are `created`, `queued` and `in_progress`; later ones belong to the answer. */
const LAST_SEQUENCE_BEFORE_ANSWER = 2;

const getOwner = ({ region, workspace, keyId }: BackgroundRunRecord): Owner => ({ region, workspace, keyId });

const tooManyRunsError = (): ServiceError =>
  new ServiceError(
    'rate-limited',
    `This key has ${BACKGROUND_UNFINISHED_MAX} background responses that have not ended. Wait for one to end or cancel one.`,
    { param: 'background' },
  );
