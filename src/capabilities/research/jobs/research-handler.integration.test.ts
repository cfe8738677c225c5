import assert from 'node:assert/strict';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Owner } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import { systemIdGenerator } from '../../../core/id.ts';
import { RESEARCH_UNATTENDED_MS_MAX } from '../runs/limits.ts';
import { JOB_LEASE_MS, JOB_POLL_MS } from '../../../jobs/limits.ts';
import { RESEARCH_RETRY_MS_MIN, RESEARCH_REPORT_GRACE_MS, RESEARCH_WAIT_MS, RESEARCH_RUN_POLL_MS } from './limits.ts';
import type { ResearchEvent, ResearchRuns } from '../research.ts';
import {
  createScriptedResearch,
  REQUEST,
  getAllEvents,
  type ScriptedResearch,
  type ScriptedResearchOptions,
} from '../runs/__fixtures__/scripted-research.ts';
import { createResearchRuns } from '../runs/service.ts';
import { createResearchLifecycle } from '../runs/research-lifecycle.ts';
import { createRunNotifier } from '../../../resources/responses/run-notifier.ts';
import type { JobStore } from '../../../store/jobs.ts';
import {
  createFaultyConnection,
  createTestWorkers,
  type TestWorkers,
} from '../../../jobs/__fixtures__/test-workers.ts';
import type { JobWorker } from '../../../jobs/worker.ts';
import { createResearchHandler } from './research-handler.ts';

const OWNER: Owner = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' };
const MINUTES = 30;
/** Time within which both the job poll and the run poll happen at least once. */
const POLL_MS = Math.max(JOB_POLL_MS, RESEARCH_RUN_POLL_MS);

let testWorkers: TestWorkers;
let workers: JobWorker[];
let isKeyActive: boolean;

beforeEach(async () => {
  testWorkers = await createTestWorkers();
  workers = [];
  isKeyActive = true;
});
afterEach(async () => {
  for (const worker of workers) await worker.close();
  await testWorkers.close();
});

interface Process {
  readonly research: ScriptedResearch;
  readonly runs: ResearchRuns;
  readonly worker: JobWorker;
}

/** Starts a process that runs research and serves readers. */
function start(options: ScriptedResearchOptions = {}, jobs: JobStore = testWorkers.store.jobs): Process {
  const { store, time } = testWorkers;
  const { clock, startInterval } = time;
  const research = createScriptedResearch(options);
  const notifier = createRunNotifier();
  const jobNotifier = { notify: (event: 'due' | 'cancelled') => worker.notifier.notify(event) };
  const lifecycle = createResearchLifecycle({ store, clock, notifier: notifier, jobNotifier });
  const log = { info: write('info'), warn: write('warn') };
  const deps = {
    lifecycle,
    research: research,
    clock,
    ids: systemIdGenerator,
    log,
    budgetMinutes: MINUTES,
    startInterval,
  };
  const handler = createResearchHandler({ ...deps, isKeyActive: async () => isKeyActive });
  const worker = testWorkers.start({ research: handler }, { jobs });
  // A worker with an interrupted connection would never close.
  if (jobs === testWorkers.store.jobs) workers.push(worker);
  const limits = { runsPerKey: 9, runsPerWorkspace: 9 };
  const runs = createResearchRuns({
    store,
    clock,
    ids: systemIdGenerator,
    research: research,
    notifier: notifier,
    jobNotifier,
    limits,
    startInterval,
  });
  return { research, runs, worker };
}
const write =
  (level: string) =>
  (message: string, fields: Readonly<Record<string, unknown>> = {}) =>
    void testWorkers.logLines.push({ level, message, fields: fields });

interface Reading {
  readonly id: string;
  readonly events: ResearchEvent[];
  /** Error that ended the reading; undefined after a complete reading. */
  readonly end: Promise<unknown>;
  leave(): Promise<void>;
}

async function read({ runs }: Process): Promise<Reading> {
  const gone = new AbortController();
  let id = '';
  const log = { add: (fields: object) => (id = String(Reflect.get(fields, 'research'))), warn: () => undefined };
  const context = { requestId: 'r', owner: OWNER, signal: gone.signal, log };
  const batches = await runs.open({ request: REQUEST, fingerprint: 'same' }, context);
  const events: ResearchEvent[] = [];
  const readAll = async (): Promise<void> => {
    for await (const batch of batches) events.push(...batch);
  };
  const end = readAll().catch((error: unknown) => error);
  return {
    id,
    events,
    end,
    async leave() {
      gone.abort(new ServiceError('cancelled', 'left'));
      await end;
    },
  };
}

/** Blocks a step until `open` is called. */
function blockStep(at: number) {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const before: ScriptedResearchOptions['before'] = async (step, { signal }) => {
    if (step !== at) return;
    signal.addEventListener('abort', () => reject(new Error('aborted')));
    await promise;
  };
  return { before, open: resolve };
}
const findJob = async (id: string) =>
  (await testWorkers.store.jobs.findBySubject('research', id)) ?? assert.fail('no job');
const findState = async (id: string) => (await testWorkers.store.research.findSummary(id))?.state;
const listRunLogs = () =>
  testWorkers.logLines.filter(({ message }) => message === 'deep research').map(({ fields }) => fields);

describe('createResearchHandler', () => {
  it('runs research step by step and logs its usage once', async () => {
    const process = start();
    const reading = await read(process);
    await testWorkers.time.advance(POLL_MS);
    assert.deepEqual([await reading.end, reading.events], [undefined, getAllEvents()]);
    const [context] = process.research.contexts;
    assert.deepEqual([context?.owner, context?.startedAt], [OWNER, (await findJob(reading.id)).createdAt]);
    const { requestId: _, durationMs: __, ...line } = listRunLogs()[0] ?? {};
    const usage = { steps: 6, queries: 2, sites: 2, sitesUsed: 1, references: 1, inputTokens: 600, outputTokens: 60 };
    const about = { research: reading.id, kind: 'none', attempt: 1, model: REQUEST.model, ...OWNER };
    assert.deepEqual([line, listRunLogs().length], [{ ...about, ...usage }, 1]);
    const { state, progress } = await findJob(reading.id);
    assert.deepEqual([state, progress], ['done', { done: 6, step: 'report' }]);
  });

  it('cancels a run that nobody read for a minute', async () => {
    const process = start(blockStep(2));
    const reading = await read(process);
    await testWorkers.time.advance(30_000);
    await reading.leave();
    await testWorkers.time.advance(RESEARCH_UNATTENDED_MS_MAX);
    const [context] = process.research.contexts;
    assert.deepEqual([context?.signal.aborted, await findState(reading.id)], [false, 'running']);
    await testWorkers.time.advance(2 * POLL_MS);
    assert.deepEqual([context?.signal.aborted, await findState(reading.id)], [true, 'cancelled']);
    assert.deepEqual([(await findJob(reading.id)).state, process.research.startedSteps], ['cancelled', [0, 1, 2]]);
    assert.deepEqual(
      listRunLogs().map(({ kind, queries }) => ({ kind, queries })),
      [{ kind: 'cancelled', queries: 1 }],
    );
    await testWorkers.time.advance(RESEARCH_UNATTENDED_MS_MAX);
    assert.equal(process.research.startedSteps.length, 3);
  });

  it('continues for a reader that returns within the minute', async () => {
    const { before, open } = blockStep(2);
    const process = start({ before });
    const first = await read(process);
    await testWorkers.time.advance(1);
    await first.leave();
    await testWorkers.time.advance(RESEARCH_UNATTENDED_MS_MAX - 1);
    const second = await read(process);
    await testWorkers.time.advance(RESEARCH_UNATTENDED_MS_MAX);
    open();
    await testWorkers.time.advance(1);
    assert.deepEqual([second.id, await second.end, second.events], [first.id, undefined, getAllEvents()]);
    assert.deepEqual([process.research.startedSteps, process.research.contexts.length], [[0, 1, 2, 3, 4, 5], 1]);
  });

  it('ends a run soon after its key was revoked', async () => {
    const process = start(blockStep(3));
    const reading = await read(process);
    await testWorkers.time.advance(POLL_MS);
    isKeyActive = false;
    await testWorkers.time.advance(POLL_MS);
    assert.equal(Object(await reading.end).kind, 'unauthenticated');
    assert.deepEqual([reading.events, process.research.contexts[0]?.signal.aborted], [getAllEvents(3), true]);
    assert.equal((await findJob(reading.id)).state, 'done');
  });

  it('runs no step for a revoked key', async () => {
    isKeyActive = false;
    const process = start();
    const reading = await read(process);
    await testWorkers.time.advance(POLL_MS);
    assert.deepEqual(
      [Object(await reading.end).kind, reading.events, process.research.startedSteps],
      ['unauthenticated', [], []],
    );
  });

  it('reports other failures to its readers and finishes the job', async () => {
    const before = async (step: number): Promise<void> => {
      if (step === 1) throw new ServiceError('engine-failed', 'no engine', { param: 'model' });
    };
    const process = start({ before });
    const reading = await read(process);
    await testWorkers.time.advance(POLL_MS);
    const { kind, message, param } = Object(await reading.end);
    assert.deepEqual([kind, message, param, reading.events], ['engine-failed', 'no engine', 'model', getAllEvents(1)]);
    assert.deepEqual([listRunLogs()[0]?.['kind'], (await findJob(reading.id)).state], ['engine-failed', 'done']);
  });

  it('fails if the research ends without a report or a step is too large', async () => {
    const empty = start();
    Object.assign(empty.research, { async *run() {} });
    const first = await read(empty);
    await testWorkers.time.advance(POLL_MS);
    assert.equal(Object(await first.end).kind, 'internal');
    Object.assign(empty.research, {
      async *run() {
        yield { events: [], state: 'x'.repeat(9_000_000) };
      },
    });
    const second = await read(empty);
    await testWorkers.time.advance(POLL_MS);
    assert.equal(Object(await second.end).kind, 'too-large');
  });

  it('retries a temporarily rejected step for a limited time', async () => {
    let rejectionsLeft = 3;
    const before = async (step: number): Promise<void> => {
      if (step === 2 && (rejectionsLeft -= 1) >= 0) throw new ServiceError('overloaded', 'full');
    };
    const process = start({ before });
    const first = await read(process);
    await testWorkers.time.advance(RESEARCH_RETRY_MS_MIN * 7);
    assert.deepEqual([await first.end, first.events], [undefined, getAllEvents()]);
    assert.deepEqual(process.research.startedSteps, [0, 1, 2, 2, 2, 2, 3, 4, 5]);
    rejectionsLeft = Number.POSITIVE_INFINITY;
    const second = await read(process);
    await testWorkers.time.advance(RESEARCH_WAIT_MS - 20_000);
    assert.equal(await findState(second.id), 'running');
    await testWorkers.time.advance(20_000);
    assert.deepEqual([Object(await second.end).kind, second.events], ['overloaded', getAllEvents(2)]);
  });

  it('fails at its deadline, whichever attempt started it', async () => {
    const process = start(blockStep(2));
    const reading = await read(process);
    await testWorkers.time.advance(1);
    const stepMs = 10_000;
    for (let leftMs = MINUTES * 60_000 + RESEARCH_REPORT_GRACE_MS - 2 * stepMs; leftMs > 0; leftMs -= stepMs) {
      testWorkers.time.jump(stepMs - 1);
      await testWorkers.time.advance(1);
    }
    assert.equal(await findState(reading.id), 'running');
    await testWorkers.time.advance(2 * stepMs);
    await testWorkers.time.advance(POLL_MS);
    assert.equal(Object(await reading.end).kind, 'timeout');
  });

  it('resumes in another process with the step that was not stored', async () => {
    const first = start(blockStep(3));
    const reading = await read(first);
    await testWorkers.time.advance(POLL_MS);
    await first.worker.close();
    const next = start();
    await testWorkers.time.advance(POLL_MS);
    assert.deepEqual([await reading.end, reading.events], [undefined, getAllEvents()]);
    assert.deepEqual(
      [first.research.startedSteps, next.research.startedSteps],
      [
        [0, 1, 2, 3],
        [3, 4, 5],
      ],
    );
    assert.equal(next.research.contexts[0]?.startedAt, first.research.contexts[0]?.startedAt);
    assert.equal((await findJob(reading.id)).attemptsLeft, 5);
    assert.equal(listRunLogs().length, 1);
  });

  it('stores nothing for an attempt that lost its lease during a step', async () => {
    const connection = createFaultyConnection(testWorkers.store.jobs);
    const { promise, resolve } = Promise.withResolvers<void>();
    // This attempt continues its step although it was events to stop.
    const losing = start({ before: (step) => (step === 2 ? promise : yieldToEventLoop()) }, connection.jobs);
    const reading = await read(losing);
    await testWorkers.time.advance(POLL_MS);
    connection.state = 'silent';
    const { before, open } = blockStep(4);
    const next = start({ before });
    await testWorkers.time.advance(JOB_LEASE_MS + POLL_MS);
    assert.deepEqual(next.research.startedSteps, [2, 3, 4]);
    resolve();
    await testWorkers.time.advance(POLL_MS);
    assert.deepEqual([losing.research.startedSteps, reading.events], [[0, 1, 2], getAllEvents(4)]);
    open();
    await testWorkers.time.advance(POLL_MS);
    assert.deepEqual([await reading.end, reading.events], [undefined, getAllEvents()]);
  });

  it('ends with its job if the operator cancels it', async () => {
    const process = start(blockStep(1));
    const reading = await read(process);
    await testWorkers.time.advance(POLL_MS);
    await testWorkers.store.jobs.cancel((await findJob(reading.id)).id, testWorkers.time.clock.now());
    await testWorkers.time.advance(2 * POLL_MS);
    assert.equal(Object(await reading.end).kind, 'cancelled');
    assert.deepEqual([await findState(reading.id), (await findJob(reading.id)).state], ['cancelled', 'cancelled']);
    assert.deepEqual(
      listRunLogs().map(({ kind }) => kind),
      ['cancelled'],
    );
  });

  it('is given up with a message if every process dies in the same step', async () => {
    const { store, time } = testWorkers;
    const { clock } = time;
    const process = start(blockStep(1));
    const reading = await read(process);
    await testWorkers.time.advance(POLL_MS);
    await process.worker.close();
    for (let tries = 5; tries > 0; tries -= 1) {
      const now = clock.now();
      assert.ok(await store.jobs.claim({ leaseOwner: `dead ${tries}`, now, leaseUntil: now + 1, kinds: ['research'] }));
      await time.advance(2);
    }
    const next = start();
    await testWorkers.time.advance(POLL_MS);
    assert.deepEqual([Object(await reading.end).kind, reading.events], ['engine-failed', getAllEvents(1)]);
    assert.match(Object(await reading.end).message, /died in the same step/);
    assert.deepEqual([next.research.startedSteps, (await findJob(reading.id)).state], [[], 'failed']);
  });
});
