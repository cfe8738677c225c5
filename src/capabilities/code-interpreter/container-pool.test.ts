import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RETRY_AFTER_SECONDS } from '../../core/limits.ts';
import { CODE_PROGRAM_BYTES_MAX, CODE_REMOVAL_MS_MAX } from './limits.ts';
import type { CodeOutput } from '../../core/server-tools.ts';
import { createContainerPool } from './container-pool.ts';
import type { ProgramProcess } from './program-process.ts';

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
const NEVER_ABORTED = new AbortController().signal;
const output = (value: string): CodeOutput => ({ stdout: '', stderr: '', value, files: [], isTruncated: false });

interface FakeProcess extends ProgramProcess {
  readonly receivedPrograms: string[];
  readonly isKilled: () => boolean;
  /** Ends the removal of a killed process that is removed late. */
  readonly finishRemoval: () => void;
}

/** Creates a process that returns each program as its value, until it is killed. */
function createFakeProcess({ fails = false, isRemovedLate = false } = {}): FakeProcess {
  const receivedPrograms: string[] = [];
  let isKilled = false;
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const { promise: removal, resolve: finishRemoval } = Promise.withResolvers<void>();
  const ready = fails ? Promise.reject(new Error('no memory')) : Promise.resolve();
  ready.catch(() => undefined);
  return {
    receivedPrograms,
    isKilled: () => isKilled,
    ready,
    termination: ended,
    removal,
    finishRemoval,
    kill() {
      isKilled = true;
      resolve();
      if (!isRemovedLate) finishRemoval();
    },
    async run({ code, files }) {
      receivedPrograms.push([code, ...files.map(({ name }) => name)].join());
      if (code === 'loop') return { ...output(''), error: { type: 'time', message: 'too long' } };
      return output(code);
    },
  };
}

function openPool({ containersMax = 2, containersPerTenant = 2, warm = 0, fails = false, isRemovedLate = false } = {}) {
  const started: FakeProcess[] = [];
  const errors: string[] = [];
  let now = 0;
  let checkIdle: () => void = () => undefined;
  const pool = createContainerPool({
    start: () => {
      const process = createFakeProcess({ fails, isRemovedLate });
      started.push(process);
      return process;
    },
    containersMax,
    containersPerTenant,
    warm,
    idleMs: 1_000,
    protectedMs: 100,
    clock: { now: () => now, monotonic: () => now },
    log: { ...SILENT, error: (message) => void errors.push(message) },
    startInterval: (_ms, run) => {
      checkIdle = run;
      return () => undefined;
    },
  });
  const advanceTo = (ms: number): void => {
    now = ms;
    checkIdle();
  };
  return { containers: pool, started, errors, at: advanceTo };
}

describe('createContainerPool', () => {
  test('closes a container after the idle time, and not before', async () => {
    const { containers, started, at } = openPool();
    const container = await containers.open({ tenant: 'a' }, NEVER_ABORTED);
    at(5_000);
    assert.equal(started[0]?.isKilled(), false, 'it is in use');
    container.release();
    at(5_999);
    assert.equal(started[0]?.isKilled(), false);
    at(6_000);
    assert.equal(started[0]?.isKilled(), true);
  });

  test('refuses a container when all are in use; replaces released ones, those of the same tenant first', async () => {
    const { containers, started, at } = openPool();
    const first = await containers.open({ tenant: 'a' }, NEVER_ABORTED);
    at(1);
    const second = await containers.open({ tenant: 'b' }, NEVER_ABORTED);
    await assert.rejects(containers.open({ tenant: 'b' }, NEVER_ABORTED), { kind: 'overloaded' });
    first.release();
    at(2);
    second.release();
    await containers.open({ tenant: 'b' }, NEVER_ABORTED);
    assert.deepEqual(
      started.map((process) => process.isKilled()),
      [false, true, false],
    );
  });

  test('gives a tenant its share at most, and replaces an unused container of its own', async () => {
    const { containers, started, at } = openPool({ containersMax: 4, containersPerTenant: 2 });
    const first = await containers.open({ tenant: 'a' }, NEVER_ABORTED);
    await containers.open({ tenant: 'a' }, NEVER_ABORTED);
    await assert.rejects(containers.open({ tenant: 'a' }, NEVER_ABORTED), {
      kind: 'overloaded',
      message: 'All 2 code interpreter containers of this workspace are in use.',
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
    await containers.open({ tenant: 'b' }, NEVER_ABORTED);
    at(1);
    first.release();
    await containers.open({ tenant: 'a' }, NEVER_ABORTED);
    assert.deepEqual(
      started.map((process) => process.isKilled()),
      [true, false, false, false],
    );
  });

  test('protects an unused container from other tenants for a time, and says when to retry', async () => {
    const { containers, started, at } = openPool();
    at(1_000);
    for (const tenant of ['a', 'b']) (await containers.open({ tenant }, NEVER_ABORTED)).release();
    at(1_099);
    await assert.rejects(containers.open({ tenant: 'c' }, NEVER_ABORTED), { kind: 'overloaded', retryAfterSeconds: 1 });
    at(1_100);
    await containers.open({ tenant: 'c' }, NEVER_ABORTED);
    assert.deepEqual(
      started.map((process) => process.isKilled()),
      [true, false, false],
    );
  });

  test('keeps the place of a closed container until it is removed', async () => {
    const { containers, started, at } = openPool({ isRemovedLate: true });
    const first = await containers.open({ tenant: 'a' }, NEVER_ABORTED);
    await containers.open({ tenant: 'b' }, NEVER_ABORTED);
    first.release();
    at(100);
    const aborted = new AbortController();
    const waiting = [
      containers.open({ tenant: 'b' }, NEVER_ABORTED),
      containers.open({ tenant: 'c' }, aborted.signal),
      containers.open({ tenant: 'c' }, NEVER_ABORTED),
    ] as const;
    aborted.abort(new Error('gone'));
    await assert.rejects(waiting[1], { message: 'gone' });
    assert.equal(started[0]?.isKilled(), true);
    assert.equal(started.length, 2, 'nothing starts before the first container is removed');
    started[0]?.finishRemoval();
    await waiting[0];
    assert.equal(started.length, 3);
    await assert.rejects(waiting[2], { kind: 'overloaded' }, 'one place is free, not two');
  });

  test('keeps the place of a program that was stopped in the share of its tenant until it is removed', async () => {
    const { containers, started } = openPool({ containersMax: 4, containersPerTenant: 1, isRemovedLate: true });
    const container = await containers.open({ tenant: 'a' }, NEVER_ABORTED);
    await container.run('loop', NEVER_ABORTED);
    const next = containers.open({ tenant: 'a' }, NEVER_ABORTED);
    await containers.open({ tenant: 'b' }, NEVER_ABORTED);
    assert.equal(started.length, 2);
    started[0]?.finishRemoval();
    await next;
    assert.equal(started.length, 3);
  });

  test('reports a container that is not removed, keeps its place, and waits for it no longer', async () => {
    const { containers, started, errors, at } = openPool({ containersMax: 1, isRemovedLate: true });
    const container = await containers.open({ tenant: 'a' }, NEVER_ABORTED);
    await container.run('loop', NEVER_ABORTED);
    at(CODE_REMOVAL_MS_MAX - 1);
    assert.deepEqual(errors, []);
    at(CODE_REMOVAL_MS_MAX);
    at(CODE_REMOVAL_MS_MAX + 1);
    assert.deepEqual(errors, ['code interpreter container not removed']);
    await assert.rejects(containers.open({ tenant: 'b' }, NEVER_ABORTED), { kind: 'overloaded' });
    started[0]?.finishRemoval();
    await started[0]?.removal;
    await containers.open({ tenant: 'b' }, NEVER_ABORTED);
  });

  test('runs programs of a container one after the other, with the input files for the first', async () => {
    const { containers, started } = openPool();
    const container = await containers.open(
      { tenant: 'a', inputs: async () => [{ name: 'x', bytes: '' }] },
      NEVER_ABORTED,
    );
    const outputs = await Promise.all([container.run('1', NEVER_ABORTED), container.run('2', NEVER_ABORTED)]);
    assert.deepEqual(
      outputs.map(({ value }) => value),
      ['1', '2'],
    );
    assert.deepEqual(started[0]?.receivedPrograms, ['1,x', '2']);
  });

  test('reads input files only for a program of the caller that passed them', async () => {
    const { containers, started } = openPool();
    let reads = 0;
    const inputs = async () => [{ name: `x${++reads}`, bytes: '' }];
    const first = await containers.open({ tenant: 'a', inputs }, NEVER_ABORTED);
    for (let times = 0; times < 3; times++) {
      const idle = await containers.open({ tenant: 'a', containerId: first.id, inputs }, NEVER_ABORTED);
      idle.release();
    }
    const last = await containers.open({ tenant: 'a', containerId: first.id }, NEVER_ABORTED);
    await last.run('1', NEVER_ABORTED);
    assert.equal(reads, 0);
    await first.run('2', NEVER_ABORTED);
    assert.deepEqual(started[0]?.receivedPrograms, ['1', '2,x1']);
  });

  test('rejects an aborted program at once, and still runs no two programs in parallel', async () => {
    const { containers, started } = openPool();
    const container = await containers.open({ tenant: 'a' }, NEVER_ABORTED);
    const file = Promise.withResolvers<readonly []>();
    const slow = await containers.open(
      { tenant: 'a', containerId: container.id, inputs: () => file.promise },
      NEVER_ABORTED,
    );
    const first = slow.run('1', NEVER_ABORTED);
    const end = new AbortController();
    const second = container.run('2', end.signal);
    const third = container.run('3', NEVER_ABORTED);
    end.abort(new Error('gone'));
    await assert.rejects(second, { message: 'gone' });
    assert.deepEqual(started[0]?.receivedPrograms, []);
    file.resolve([]);
    await Promise.all([first, third]);
    assert.deepEqual(started[0]?.receivedPrograms, ['1', '3']);
    assert.equal(started[0]?.isKilled(), false);
  });

  test('closes a container that exceeded a limit, and reports it as lost to later programs', async () => {
    const { containers, started } = openPool();
    const container = await containers.open({ tenant: 'a' }, NEVER_ABORTED);
    assert.equal((await container.run('loop', NEVER_ABORTED)).error?.type, 'time');
    assert.equal(started[0]?.isKilled(), true);
    assert.equal((await container.run('1', NEVER_ABORTED)).error?.type, 'lost');
    const next = await containers.open({ tenant: 'a', containerId: container.id }, NEVER_ABORTED);
    assert.notEqual(next.id, container.id);
  });

  test('uses a process of the warm pool, and starts another one', async () => {
    const { containers, started } = openPool({ warm: 1 });
    assert.equal(started.length, 1);
    const container = await containers.open({ tenant: 'a' }, NEVER_ABORTED);
    await container.run('1', NEVER_ABORTED);
    assert.deepEqual(started[0]?.receivedPrograms, ['1']);
    assert.equal(started.length, 2);
  });

  test('reports a failed start as overloaded, and frees its place', async () => {
    const { containers } = openPool({ fails: true, containersMax: 1 });
    for (let round = 0; round < 3; round++) {
      await assert.rejects(containers.open({ tenant: 'a' }, NEVER_ABORTED), { kind: 'overloaded' });
    }
  });

  test('refuses a program that is too long', async () => {
    const { containers, started } = openPool();
    const container = await containers.open({ tenant: 'a' }, NEVER_ABORTED);
    await assert.rejects(container.run('x'.repeat(CODE_PROGRAM_BYTES_MAX + 1), NEVER_ABORTED), { kind: 'too-large' });
    assert.deepEqual(started[0]?.receivedPrograms, []);
  });

  test('rejects with the reason of an aborted signal', async () => {
    const { containers } = openPool();
    const end = AbortSignal.abort(new Error('gone'));
    await assert.rejects(containers.open({ tenant: 'a' }, end), { message: 'gone' });
    const container = await containers.open({ tenant: 'a' }, NEVER_ABORTED);
    await assert.rejects(container.run('1', end), { message: 'gone' });
  });
});
