import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemIds } from '../../src/core/id.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { newJob } from '../../src/resources/jobs/new-job.ts';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { until } from '../until.ts';

const CHILD = fileURLToPath(new URL('jobs-child.ts', import.meta.url));
const PATIENCE = { withinMs: 60_000 };
/** Long enough for a busy machine; where a test waits for its end, as short as that allows. */
const LEASE_MS = 60_000;
const SHORT_LEASE_MS = 4_000;
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;

interface Worker {
  readonly child: ChildProcess;
  readonly lines: string[];
  says(line: string): Promise<string>;
}

describe('jobs and the processes that work at them', () => {
  let folder = '';
  let file = '';
  let store: Store;
  let workers: Worker[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-crash-'));
    file = join(folder, 'parley.db');
    store = await openStore({ dialect: sqliteDialect({ file }) });
    workers = [];
  });
  afterEach(async () => {
    await Promise.all(workers.map((worker) => end(worker, 'SIGKILL')));
    await store.close();
    await rm(folder, { recursive: true });
  });

  const start = async (name: string, steps: number, leaseMs = LEASE_MS): Promise<Worker> => {
    const args = [CHILD, file, name, String(steps), String(leaseMs)];
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    assert.ok(child.stdout);
    const lines: string[] = [];
    createInterface(child.stdout).on('line', (line) => void lines.push(line));
    const says = (line: string) =>
      until(`${name}: ${line}`, PATIENCE, () => Promise.resolve(lines.find((each) => each.startsWith(line))));
    const worker = { child, lines, says };
    workers.push(worker);
    await says('ready');
    return worker;
  };
  const end = async ({ child }: Worker, signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  };
  const put = async (subject: string): Promise<string> => {
    const wish = { kind: 'batch', subject, owner: OWNER, payload: {} } as const;
    const job = newJob(wish, { ids: systemIds, clock: systemClock });
    await store.jobs.insert(job);
    return job.id;
  };
  const ended = (id: string) =>
    until(`the end of ${id}`, PATIENCE, async () => {
      const job = await store.jobs.find(id);
      return job?.endedAt === undefined ? undefined : job;
    });

  it('a second process finishes what a killed one had begun, from where that was', async () => {
    const killed = await start('killed', Number.MAX_SAFE_INTEGER, SHORT_LEASE_MS);
    const id = await put('batch_1');
    await killed.says('begun batch_1 1');
    const next = await start('next', 0);
    const moved = await until('progress', PATIENCE, async () => {
      const done = (await store.jobs.find(id))?.progress?.done ?? 0;
      return done > 0 ? done : undefined;
    });
    await end(killed, 'SIGKILL');
    const job = await ended(id);
    assert.deepEqual([job.state, job.attempt, job.triesLeft], ['done', 2, 4]);
    assert.ok((job.progress?.done ?? 0) >= moved);
    assert.deepEqual(next.lines, ['ready', 'begun batch_1 2', 'done batch_1 2']);
  });

  it('a process that stops as it should gives its work back at once, and for nothing', async () => {
    const stopped = await start('stopped', Number.MAX_SAFE_INTEGER);
    const id = await put('batch_2');
    await stopped.says('begun batch_2 1');
    await end(stopped, 'SIGTERM');
    const { state, leaseOwner, triesLeft } = (await store.jobs.find(id)) ?? assert.fail();
    assert.deepEqual([state, leaseOwner, triesLeft, stopped.child.exitCode], ['waiting', undefined, 5, 0]);
    await start('next', 0);
    assert.deepEqual([(await ended(id)).attempt, (await ended(id)).triesLeft], [2, 5]);
  });

  it('processes that look at the same time run each of many jobs once', async () => {
    const all = await Promise.all(['one', 'two', 'three'].map((name) => start(name, 3)));
    const ids: string[] = [];
    for (let count = 0; count < 60; count += 1) ids.push(await put(`batch_${count}`));
    for (const id of ids) assert.equal((await ended(id)).attempt, 1);
    const done = all.flatMap(({ lines }) => lines.filter((line) => line.startsWith('done')));
    assert.equal(new Set(done).size, 60);
    assert.deepEqual(
      [done.length, all.flatMap(({ lines }) => lines).filter((line) => line.startsWith('trouble'))],
      [60, []],
    );
  });
});
