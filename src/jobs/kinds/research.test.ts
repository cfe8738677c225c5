import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { systemIds } from '../../core/id.ts';
import {
  JOB_LEASE_MS,
  JOB_LOOK_MS,
  RESEARCH_ATTACH_MS,
  RESEARCH_RETRY_MS_MIN,
  RESEARCH_SLACK_MS,
  RESEARCH_WAIT_MS,
  RESEARCH_WATCH_MS,
} from '../../core/limits.ts';
import type { ResearchEvent, ResearchRuns } from '../../core/research.ts';
import {
  playResearch,
  REQUEST,
  wholeRun,
  type PlayedResearch,
  type PlayedResearchOptions,
} from '../../resources/research/__fixtures__/played-research.ts';
import { createResearchRuns } from '../../resources/research/service.ts';
import { createResearchWork } from '../../resources/research/work.ts';
import { createRunBell } from '../../resources/responses/run-bell.ts';
import type { JobStore } from '../../store/jobs.ts';
import { playConnection, playWorkers, type PlayedWorkers } from '../__fixtures__/played-worker.ts';
import type { JobWorker } from '../worker.ts';
import { researchJob } from './research.ts';

const OWNER: Owner = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' };
const MINUTES = 30;
/** Looks of jobs and of runs come at the same moments: one of each. */
const LOOK_MS = Math.max(JOB_LOOK_MS, RESEARCH_WATCH_MS);

let room: PlayedWorkers;
let workers: JobWorker[];
let isKeyActive: boolean;

beforeEach(async () => {
  room = await playWorkers();
  workers = [];
  isKeyActive = true;
});
afterEach(async () => {
  for (const worker of workers) await worker.close();
  await room.close();
});

interface Process {
  readonly played: PlayedResearch;
  readonly runs: ResearchRuns;
  readonly worker: JobWorker;
}

/** A process that works at runs and has readers. */
function start(options: PlayedResearchOptions = {}, jobs: JobStore = room.store.jobs): Process {
  const { store, time } = room;
  const { clock, every } = time;
  const played = playResearch(options);
  const bell = createRunBell();
  const jobBell = { ring: (news: 'due' | 'cancelled') => worker.bell.ring(news) };
  const work = createResearchWork({ store, clock, bell, jobBell });
  const log = { info: write('info'), warn: write('warn') };
  const needs = { work, research: played, clock, ids: systemIds, log, minutes: MINUTES, every };
  const research = researchJob({ ...needs, isKeyActive: async () => isKeyActive });
  const worker = room.begin({ research }, { jobs });
  // One that is never answered again never ends.
  if (jobs === room.store.jobs) workers.push(worker);
  const limits = { runsPerKey: 9, runsPerWorkspace: 9 };
  const runs = createResearchRuns({ store, clock, ids: systemIds, research: played, bell, jobBell, limits, every });
  return { played, runs, worker };
}
const write =
  (level: string) =>
  (message: string, facts: Readonly<Record<string, unknown>> = {}) =>
    void room.lines.push({ level, message, facts });

interface Reading {
  readonly id: string;
  readonly told: ResearchEvent[];
  /** Why it broke off; undefined: it came to its end. */
  readonly end: Promise<unknown>;
  leave(): Promise<void>;
}

async function read({ runs }: Process): Promise<Reading> {
  const gone = new AbortController();
  let id = '';
  const log = { add: (facts: object) => (id = String(Reflect.get(facts, 'research'))), warn: () => undefined };
  const context = { requestId: 'r', owner: OWNER, signal: gone.signal, log };
  const batches = await runs.open({ request: REQUEST, likeness: 'same' }, context);
  const told: ResearchEvent[] = [];
  const readAll = async (): Promise<void> => {
    for await (const batch of batches) told.push(...batch);
  };
  const end = readAll().catch((error: unknown) => error);
  return {
    id,
    told,
    end,
    async leave() {
      gone.abort(new ServiceError('cancelled', 'left'));
      await end;
    },
  };
}

/** Steps wait until this one is let go. */
function gate(at: number) {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const before: PlayedResearchOptions['before'] = async (step, { signal }) => {
    if (step !== at) return;
    signal.addEventListener('abort', () => reject(new Error('aborted')));
    await promise;
  };
  return { before, open: resolve };
}
const jobOf = async (id: string) => (await room.store.jobs.findBySubject('research', id)) ?? assert.fail('no job');
const stateOf = async (id: string) => (await room.store.research.findState(id))?.state;
const ends = () => room.lines.filter(({ message }) => message === 'deep research').map(({ facts }) => facts);

describe('the job of deep research', () => {
  it('makes a run step by step, and writes down once what it took', async () => {
    const process = start();
    const reading = await read(process);
    await room.time.pass(LOOK_MS);
    assert.deepEqual([await reading.end, reading.told], [undefined, wholeRun()]);
    const [context] = process.played.contexts;
    assert.deepEqual([context?.owner, context?.startedAt], [OWNER, (await jobOf(reading.id)).createdAt]);
    const { requestId: _, durationMs: __, ...line } = ends()[0] ?? {};
    const spent = { steps: 6, queries: 2, sites: 2, sitesUsed: 1, references: 1, inputTokens: 600, outputTokens: 60 };
    const about = { research: reading.id, kind: 'none', attempt: 1, model: REQUEST.model, ...OWNER };
    assert.deepEqual([line, ends().length], [{ ...about, ...spent }, 1]);
    const { state, progress } = await jobOf(reading.id);
    assert.deepEqual([state, progress], ['done', { done: 6, step: 'report' }]);
  });

  it('is cancelled when nobody has read for a minute, and spends nothing more', async () => {
    const process = start(gate(2));
    const reading = await read(process);
    await room.time.pass(30_000);
    await reading.leave();
    await room.time.pass(RESEARCH_ATTACH_MS);
    const [context] = process.played.contexts;
    assert.deepEqual([context?.signal.aborted, await stateOf(reading.id)], [false, 'running']);
    await room.time.pass(2 * LOOK_MS);
    assert.deepEqual([context?.signal.aborted, await stateOf(reading.id)], [true, 'cancelled']);
    assert.deepEqual([(await jobOf(reading.id)).state, process.played.begun], ['cancelled', [0, 1, 2]]);
    assert.deepEqual(
      ends().map(({ kind, queries }) => ({ kind, queries })),
      [{ kind: 'cancelled', queries: 1 }],
    );
    await room.time.pass(RESEARCH_ATTACH_MS);
    assert.equal(process.played.begun.length, 3);
  });

  it('goes on for who comes back within the minute', async () => {
    const { before, open } = gate(2);
    const process = start({ before });
    const one = await read(process);
    await room.time.pass(1);
    await one.leave();
    await room.time.pass(RESEARCH_ATTACH_MS - 1);
    const two = await read(process);
    await room.time.pass(RESEARCH_ATTACH_MS);
    open();
    await room.time.pass(1);
    assert.deepEqual([two.id, await two.end, two.told], [one.id, undefined, wholeRun()]);
    assert.deepEqual([process.played.begun, process.played.contexts.length], [[0, 1, 2, 3, 4, 5], 1]);
  });

  it('ends soon after its key', async () => {
    const process = start(gate(3));
    const reading = await read(process);
    await room.time.pass(LOOK_MS);
    isKeyActive = false;
    await room.time.pass(LOOK_MS);
    assert.equal(Object(await reading.end).kind, 'unauthenticated');
    assert.deepEqual([reading.told, process.played.contexts[0]?.signal.aborted], [wholeRun(3), true]);
    assert.equal((await jobOf(reading.id)).state, 'done');
  });

  it('asks nobody for a key that is not valid any more', async () => {
    isKeyActive = false;
    const process = start();
    const reading = await read(process);
    await room.time.pass(LOOK_MS);
    assert.deepEqual([Object(await reading.end).kind, reading.told, process.played.begun], ['unauthenticated', [], []]);
  });

  it('tells its readers of any other failure, and is done', async () => {
    const before = async (step: number): Promise<void> => {
      if (step === 1) throw new ServiceError('engine-failed', 'no engine', { param: 'model' });
    };
    const process = start({ before });
    const reading = await read(process);
    await room.time.pass(LOOK_MS);
    const { kind, message, param } = Object(await reading.end);
    assert.deepEqual([kind, message, param, reading.told], ['engine-failed', 'no engine', 'model', wholeRun(1)]);
    assert.deepEqual([ends()[0]?.['kind'], (await jobOf(reading.id)).state], ['engine-failed', 'done']);
  });

  it('fails where the research ends without an end, or a step is too large', async () => {
    const silent = start();
    Object.assign(silent.played, { async *run() {} });
    const one = await read(silent);
    await room.time.pass(LOOK_MS);
    assert.equal(Object(await one.end).kind, 'internal');
    Object.assign(silent.played, {
      async *run() {
        yield { tell: [], keep: 'x'.repeat(9_000_000) };
      },
    });
    const two = await read(silent);
    await room.time.pass(LOOK_MS);
    assert.equal(Object(await two.end).kind, 'too-large');
  });

  it('tries a step again that is refused for now, and no longer than it may', async () => {
    let refusals = 3;
    const before = async (step: number): Promise<void> => {
      if (step === 2 && (refusals -= 1) >= 0) throw new ServiceError('overloaded', 'full');
    };
    const process = start({ before });
    const one = await read(process);
    await room.time.pass(RESEARCH_RETRY_MS_MIN * 7);
    assert.deepEqual([await one.end, one.told], [undefined, wholeRun()]);
    assert.deepEqual(process.played.begun, [0, 1, 2, 2, 2, 2, 3, 4, 5]);
    refusals = Number.POSITIVE_INFINITY;
    const two = await read(process);
    await room.time.pass(RESEARCH_WAIT_MS - 20_000);
    assert.equal(await stateOf(two.id), 'running');
    await room.time.pass(20_000);
    assert.deepEqual([Object(await two.end).kind, two.told], ['overloaded', wholeRun(2)]);
  });

  it('fails at its deadline, whoever began it', async () => {
    const process = start(gate(2));
    const reading = await read(process);
    await room.time.pass(1);
    const stepMs = 10_000;
    for (let leftMs = MINUTES * 60_000 + RESEARCH_SLACK_MS - 2 * stepMs; leftMs > 0; leftMs -= stepMs) {
      room.time.leap(stepMs - 1);
      await room.time.pass(1);
    }
    assert.equal(await stateOf(reading.id), 'running');
    await room.time.pass(2 * stepMs);
    await room.time.pass(LOOK_MS);
    assert.equal(Object(await reading.end).kind, 'timeout');
  });

  it('goes on elsewhere when its process stops, with the step that was not kept', async () => {
    const first = start(gate(3));
    const reading = await read(first);
    await room.time.pass(LOOK_MS);
    await first.worker.close();
    const next = start();
    await room.time.pass(LOOK_MS);
    assert.deepEqual([await reading.end, reading.told], [undefined, wholeRun()]);
    assert.deepEqual(
      [first.played.begun, next.played.begun],
      [
        [0, 1, 2, 3],
        [3, 4, 5],
      ],
    );
    assert.equal(next.played.contexts[0]?.startedAt, first.played.contexts[0]?.startedAt);
    assert.equal((await jobOf(reading.id)).triesLeft, 5);
    assert.equal(ends().length, 1);
  });

  it('is one process’s at a time: who lost it in the middle of a step keeps nothing', async () => {
    const connection = playConnection(room.store.jobs);
    const { promise, resolve } = Promise.withResolvers<void>();
    // Deaf: it goes on with its step although it was told to stop.
    const lost = start({ before: (step) => (step === 2 ? promise : turn()) }, connection.jobs);
    const reading = await read(lost);
    await room.time.pass(LOOK_MS);
    connection.state = 'silent';
    const { before, open } = gate(4);
    const next = start({ before });
    await room.time.pass(JOB_LEASE_MS + LOOK_MS);
    assert.deepEqual(next.played.begun, [2, 3, 4]);
    resolve();
    await room.time.pass(LOOK_MS);
    assert.deepEqual([lost.played.begun, reading.told], [[0, 1, 2], wholeRun(4)]);
    open();
    await room.time.pass(LOOK_MS);
    assert.deepEqual([await reading.end, reading.told], [undefined, wholeRun()]);
  });

  it('ends with its job where the operator cancels that', async () => {
    const process = start(gate(1));
    const reading = await read(process);
    await room.time.pass(LOOK_MS);
    await room.store.jobs.cancel((await jobOf(reading.id)).id, room.time.clock.now());
    await room.time.pass(2 * LOOK_MS);
    assert.equal(Object(await reading.end).kind, 'cancelled');
    assert.deepEqual([await stateOf(reading.id), (await jobOf(reading.id)).state], ['cancelled', 'cancelled']);
    assert.deepEqual(
      ends().map(({ kind }) => kind),
      ['cancelled'],
    );
  });

  it('is given up where each process ends in the same step, and says so', async () => {
    const { store, time } = room;
    const { clock } = time;
    const process = start(gate(1));
    const reading = await read(process);
    await room.time.pass(LOOK_MS);
    await process.worker.close();
    for (let tries = 5; tries > 0; tries -= 1) {
      const now = clock.now();
      assert.ok(await store.jobs.claim({ leaseOwner: `dead ${tries}`, now, leaseUntil: now + 1, kinds: ['research'] }));
      await time.pass(2);
    }
    const next = start();
    await room.time.pass(LOOK_MS);
    assert.deepEqual([Object(await reading.end).kind, reading.told], ['engine-failed', wholeRun(1)]);
    assert.match(Object(await reading.end).message, /ended in the same step/);
    assert.deepEqual([next.played.begun, (await jobOf(reading.id)).state], [[], 'failed']);
  });
});
