import assert from 'node:assert/strict';
import { systemIdGenerator } from '../../core/id.ts';
import type { JobRecord, JobRequest } from '../../core/job.ts';
import { createJobNotifier, type JobNotifier } from '../../resources/jobs/job-notifier.ts';
import { createJob } from '../../resources/jobs/create-job.ts';
import { openTestStore } from '../../store/__fixtures__/open-test-store.ts';
import type { JobStore } from '../../store/jobs.ts';
import type { Store } from '../../store/store.ts';
import type { JobHandlers, JobOutcome, JobContext } from '../handler.ts';
import { startJobWorker, type JobTiming, type JobWorker } from '../worker.ts';
import { createFakeTime, type FakeTime } from './fake-time.ts';

/** A worker process. */
export interface TestWorker extends JobWorker {
  readonly notifier: JobNotifier;
}

/** One store with as many worker processes as a test starts. */
export interface TestWorkers {
  readonly time: FakeTime;
  readonly store: Store;
  /** Log lines of all workers. */
  readonly logLines: {
    readonly level: string;
    readonly message: string;
    readonly fields: Readonly<Record<string, unknown>>;
  }[];
  /** Job kind and outcome of each attempt, as counted by the meter. */
  readonly countedAttempts: string[];
  start(handlers: JobHandlers, options?: { name?: string; jobs?: JobStore; timing?: Partial<JobTiming> }): TestWorker;
  insertJob(subject: string, change?: Partial<JobRequest>): Promise<string>;
  findJob(id: string): Promise<JobRecord>;
  close(): Promise<void>;
}

export async function createTestWorkers(): Promise<TestWorkers> {
  const time = createFakeTime();
  const { clock, startInterval } = time;
  const store = await openTestStore({ clock });
  const logLines: TestWorkers['logLines'] = [];
  const countedAttempts: string[] = [];
  const write =
    (level: string) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}): void =>
      void logLines.push({ level, message, fields });
  const log = { info: write('info'), warn: write('warn'), error: write('error') };
  const meter = {
    trackJob: (kind: string) => (outcome: string) => void countedAttempts.push(`${kind} ${outcome}`),
  };
  let startedCount = 0;
  return {
    time,
    store,
    logLines,
    countedAttempts,
    start(handlers, { name = `process ${(startedCount += 1)}`, jobs = store.jobs, timing } = {}) {
      const notifier = createJobNotifier();
      const random = () => 0;
      const deps = { jobs, handlers, notifier, leaseOwner: name, clock, log, meter, startInterval, random, timing };
      return { ...startJobWorker(deps), notifier };
    },
    async insertJob(subject, change = {}) {
      const owner = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
      const request: JobRequest = { kind: 'batch', subject, owner, payload: {}, ...change };
      const job = createJob(request, { ids: systemIdGenerator, clock });
      assert.ok(await store.jobs.insert(job));
      return job.id;
    },
    findJob: async (id) => (await store.jobs.find(id)) ?? assert.fail(`there is no job ${id}`),
    close: () => store.close(),
  };
}

/** A run whose end the test decides. */
export interface ScriptedRun extends JobContext {
  finish(outcome?: JobOutcome): void;
  fail(error: unknown): void;
}

/** Creates a handler whose runs wait for the test. `rejectsOnAbort`: whether a run rejects when its signal aborts. */
export function createScriptedHandler({ rejectsOnAbort = true }: { readonly rejectsOnAbort?: boolean } = {}) {
  const runs: ScriptedRun[] = [];
  return {
    runs,
    /** Returns the latest run. */
    last: (): ScriptedRun => runs.at(-1) ?? assert.fail('nothing was run'),
    run(context: JobContext): Promise<JobOutcome> {
      const { promise, resolve, reject } = Promise.withResolvers<JobOutcome>();
      const { signal } = context;
      if (rejectsOnAbort) signal.addEventListener('abort', () => reject(new Error(`stopped: ${signal.reason}`)));
      runs.push({ ...context, finish: (outcome = { type: 'done' }) => resolve(outcome), fail: reject });
      return promise;
    },
  };
}

/** Connection to the job store that a test can interrupt. */
export interface FaultyConnection {
  readonly jobs: JobStore;
  /** `down`: calls fail. `silent`: calls never settle, as those of a dead process. */
  state: 'up' | 'down' | 'silent';
  /** Successful calls. */
  readonly calls: { readonly name: string; readonly firstArgument: unknown; readonly result: unknown }[];
}

/** Wraps the job store as one process's connection, which a test can interrupt. */
export function createFaultyConnection(jobs: JobStore): FaultyConnection {
  const connection: FaultyConnection = {
    state: 'up',
    calls: [],
    jobs: new Proxy(jobs, {
      get(target, name) {
        const call: unknown = Reflect.get(target, name);
        assert.ok(typeof call === 'function');
        return async (...args: unknown[]): Promise<unknown> => {
          if (connection.state === 'down') throw new Error('the database is unavailable');
          if (connection.state === 'silent') return await new Promise(() => undefined);
          const result: unknown = await call(...args);
          connection.calls.push({ name: String(name), firstArgument: args[0], result });
          return result;
        };
      },
    }),
  };
  return connection;
}
