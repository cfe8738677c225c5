import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemIdGenerator } from '../../src/core/id.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createJob } from '../../src/resources/jobs/create-job.ts';
import { createSqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { until } from '../until.ts';

const CHILD = fileURLToPath(new URL('jobs-child.ts', import.meta.url));
const WAIT = { timeoutMs: 60_000 };
/** Long enough for a busy machine. A test that waits for the end of a lease uses the short one. */
const LEASE_MS = 60_000;
const SHORT_LEASE_MS = 4_000;
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;

interface Worker {
  readonly child: ChildProcess;
  readonly lines: string[];
  waitForLine(line: string): Promise<string>;
}

describe('jobs of several worker processes', () => {
  let folder = '';
  let file = '';
  let store: Store;
  let workers: Worker[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-crash-'));
    file = join(folder, 'parley.db');
    store = await openStore({ dialect: createSqliteDialect({ file }) });
    workers = [];
  });
  afterEach(async () => {
    await Promise.all(workers.map((worker) => stopWorker(worker, 'SIGKILL')));
    await store.close();
    await rm(folder, { recursive: true });
  });

  const startWorker = async (name: string, steps: number, leaseMs = LEASE_MS): Promise<Worker> => {
    const args = [CHILD, file, name, String(steps), String(leaseMs)];
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    assert.ok(child.stdout);
    const lines: string[] = [];
    createInterface(child.stdout).on('line', (line) => void lines.push(line));
    const waitForLine = (line: string) =>
      until(`${name}: ${line}`, WAIT, () => Promise.resolve(lines.find((each) => each.startsWith(line))));
    const worker = { child, lines, waitForLine };
    workers.push(worker);
    await waitForLine('ready');
    return worker;
  };
  const stopWorker = async ({ child }: Worker, signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  };
  const insertJob = async (subject: string): Promise<string> => {
    const request = { kind: 'batch', subject, owner: OWNER, payload: {} } as const;
    const job = createJob(request, { ids: systemIdGenerator, clock: systemClock });
    await store.jobs.insert(job);
    return job.id;
  };
  const waitForEnd = (id: string) =>
    until(`job ${id} finishes`, WAIT, async () => {
      const job = await store.jobs.find(id);
      return job?.endedAt === undefined ? undefined : job;
    });

  it('a second process finishes the job of a killed process, from its last progress', async () => {
    const killed = await startWorker('killed', Number.MAX_SAFE_INTEGER, SHORT_LEASE_MS);
    const id = await insertJob('batch_1');
    await killed.waitForLine('started batch_1 1');
    const next = await startWorker('next', 0);
    const doneBefore = await until('progress', WAIT, async () => {
      const done = (await store.jobs.find(id))?.progress?.done ?? 0;
      return done > 0 ? done : undefined;
    });
    await stopWorker(killed, 'SIGKILL');
    const job = await waitForEnd(id);
    assert.deepEqual([job.state, job.attempt, job.attemptsLeft], ['done', 2, 4]);
    assert.ok((job.progress?.done ?? 0) >= doneBefore);
    assert.deepEqual(next.lines, ['ready', 'started batch_1 2', 'done batch_1 2']);
  });

  it('a process that stops on SIGTERM releases its job at once, without using up an attempt', async () => {
    const stopped = await startWorker('stopped', Number.MAX_SAFE_INTEGER);
    const id = await insertJob('batch_2');
    await stopped.waitForLine('started batch_2 1');
    await stopWorker(stopped, 'SIGTERM');
    const { state, leaseOwner, attemptsLeft } = (await store.jobs.find(id)) ?? assert.fail();
    assert.deepEqual([state, leaseOwner, attemptsLeft, stopped.child.exitCode], ['waiting', undefined, 5, 0]);
    await startWorker('next', 0);
    assert.deepEqual([(await waitForEnd(id)).attempt, (await waitForEnd(id)).attemptsLeft], [2, 5]);
  });

  it('processes that poll at the same time run each job once', async () => {
    const all = await Promise.all(['one', 'two', 'three'].map((name) => startWorker(name, 3)));
    const ids: string[] = [];
    for (let count = 0; count < 60; count += 1) ids.push(await insertJob(`batch_${count}`));
    for (const id of ids) assert.equal((await waitForEnd(id)).attempt, 1);
    const done = all.flatMap(({ lines }) => lines.filter((line) => line.startsWith('done')));
    assert.equal(new Set(done).size, 60);
    assert.deepEqual(
      [done.length, all.flatMap(({ lines }) => lines).filter((line) => line.startsWith('error'))],
      [60, []],
    );
  });
});
