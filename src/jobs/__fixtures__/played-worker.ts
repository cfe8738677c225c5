import assert from 'node:assert/strict';
import { systemIds } from '../../core/id.ts';
import type { JobRecord, JobWish } from '../../core/job.ts';
import { createJobBell, type JobBell } from '../../resources/jobs/job-bell.ts';
import { newJob } from '../../resources/jobs/new-job.ts';
import { sqliteDialect } from '../../store/dialects/sqlite.ts';
import type { JobStore } from '../../store/jobs.ts';
import { openStore, type Store } from '../../store/store.ts';
import type { JobHandlers, JobOutcome, JobRun } from '../handler.ts';
import { startJobWorker, type JobTiming, type JobWorker } from '../worker.ts';
import { playTime, type PlayedTime } from './played-time.ts';

export interface PlayedWorker extends JobWorker {
  readonly bell: JobBell;
}

/** One store, and as many processes at it as a test begins. */
export interface PlayedWorkers {
  readonly time: PlayedTime;
  readonly store: Store;
  /** Messages of all workers, with their facts. */
  readonly lines: { readonly level: string; readonly message: string; readonly facts: Readonly<Record<string, unknown>> }[];
  /** Kinds and what became of attempts, as they are counted. */
  readonly counted: string[];
  begin(handlers: JobHandlers, options?: { name?: string; jobs?: JobStore; timing?: Partial<JobTiming> }): PlayedWorker;
  put(subject: string, change?: Partial<JobWish>): Promise<string>;
  find(id: string): Promise<JobRecord>;
  close(): Promise<void>;
}

export async function playWorkers(): Promise<PlayedWorkers> {
  const time = playTime();
  const { clock, every } = time;
  const store = await openStore({ dialect: sqliteDialect({ file: ':memory:' }), clock });
  const lines: PlayedWorkers['lines'] = [];
  const counted: string[] = [];
  const write =
    (level: string) =>
    (message: string, facts: Readonly<Record<string, unknown>> = {}): void =>
      void lines.push({ level, message, facts });
  const log = { info: write('info'), warn: write('warn'), error: write('error') };
  const meter = {
    jobStarted: (kind: string) => (outcome: string) => void counted.push(`${kind} ${outcome}`),
  };
  let begun = 0;
  return {
    time,
    store,
    lines,
    counted,
    begin(handlers, { name = `process ${(begun += 1)}`, jobs = store.jobs, timing } = {}) {
      const bell = createJobBell();
      const random = () => 0;
      const needs = { jobs, handlers, bell, leaseOwner: name, clock, log, meter, every, random, timing };
      return { ...startJobWorker(needs), bell };
    },
    async put(subject, change = {}) {
      const owner = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
      const job = newJob({ kind: 'batch', subject, owner, payload: {}, ...change }, { ids: systemIds, clock });
      assert.ok(await store.jobs.insert(job));
      return job.id;
    },
    find: async (id) => (await store.jobs.find(id)) ?? assert.fail(`there is no job ${id}`),
    close: () => store.close(),
  };
}

/** A run that a test steps through. */
export interface PlayedRun extends JobRun {
  finish(outcome?: JobOutcome): void;
  fail(error: unknown): void;
}

/** A handler whose runs wait for the test; `stops`: whether they reject by themselves when they are told to stop. */
export function playHandler({ stops = true }: { readonly stops?: boolean } = {}) {
  const runs: PlayedRun[] = [];
  return {
    runs,
    /** The latest one. */
    last: (): PlayedRun => runs.at(-1) ?? assert.fail('nothing was run'),
    run(run: JobRun): Promise<JobOutcome> {
      const { promise, resolve, reject } = Promise.withResolvers<JobOutcome>();
      if (stops) run.signal.addEventListener('abort', () => reject(new Error(`stopped: ${run.signal.reason}`)));
      runs.push({ ...run, finish: (outcome = { type: 'done' }) => resolve(outcome), fail: reject });
      return promise;
    },
  };
}

export interface PlayedConnection {
  readonly jobs: JobStore;
  /** Calls fail while it is down, and are never answered while it is silent, as those of a process that is dead. */
  state: 'up' | 'down' | 'silent';
  /** What was asked, with the first argument, and what came of it. */
  readonly answers: { readonly name: string; readonly about: unknown; readonly result: unknown }[];
}

/** The store as one process sees it. */
export function playConnection(jobs: JobStore): PlayedConnection {
  const connection: PlayedConnection = {
    state: 'up',
    answers: [],
    jobs: new Proxy(jobs, {
      get(target, name) {
        const call: unknown = Reflect.get(target, name);
        assert.ok(typeof call === 'function');
        return async (...args: unknown[]): Promise<unknown> => {
          if (connection.state === 'down') throw new Error('the database is not there');
          if (connection.state === 'silent') return await new Promise(() => undefined);
          const result: unknown = await call(...args);
          connection.answers.push({ name: String(name), about: args[0], result });
          return result;
        };
      },
    }),
  };
  return connection;
}
