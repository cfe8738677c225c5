import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CODE_PROGRAM_BYTES_MAX } from '../../core/limits.ts';
import type { CodeOutput } from '../../core/server-tools.ts';
import { createContainers } from './containers.ts';
import type { ProgramProcess } from './program-process.ts';

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
const forever = new AbortController().signal;
const output = (value: string): CodeOutput => ({ stdout: '', stderr: '', value, files: [], isCut: false });

interface Played extends ProgramProcess {
  readonly asked: string[];
  readonly isKilled: () => boolean;
}

/** A process that gives its programs back, until it is killed. */
function playedProcess({ fails = false } = {}): Played {
  const asked: string[] = [];
  let isKilled = false;
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const ready = fails ? Promise.reject(new Error('no room')) : Promise.resolve();
  ready.catch(() => undefined);
  return {
    asked,
    isKilled: () => isKilled,
    ready,
    ended,
    kill() {
      isKilled = true;
      resolve();
    },
    async run({ code, files }) {
      asked.push([code, ...files.map(({ name }) => name)].join());
      if (code === 'loop') return { ...output(''), error: { type: 'time', message: 'too long' } };
      return output(code);
    },
  };
}

function open({ containersMax = 2, warm = 0, fails = false } = {}) {
  const started: Played[] = [];
  let now = 0;
  let look: () => void = () => undefined;
  const containers = createContainers({
    start: () => {
      const process = playedProcess({ fails });
      started.push(process);
      return process;
    },
    containersMax,
    warm,
    idleMs: 1_000,
    clock: { now: () => now, monotonic: () => now },
    log: SILENT,
    every: (_ms, run) => {
      look = run;
      return () => undefined;
    },
  });
  const at = (ms: number): void => {
    now = ms;
    look();
  };
  return { containers, started, at };
}

describe('containers', () => {
  test('are closed when nobody used them for as long as they are kept, and not before', async () => {
    const { containers, started, at } = open();
    const held = await containers.open({ workspace: 'a' }, forever);
    at(5_000);
    assert.equal(started[0]?.isKilled(), false, 'it is in use');
    held.release();
    at(5_999);
    assert.equal(started[0]?.isKilled(), false);
    at(6_000);
    assert.equal(started[0]?.isKilled(), true);
  });

  test("where all are in use the next is refused; one that is released makes room, the own workspace's first", async () => {
    const { containers, started, at } = open();
    const first = await containers.open({ workspace: 'a' }, forever);
    at(1);
    const second = await containers.open({ workspace: 'b' }, forever);
    await assert.rejects(containers.open({ workspace: 'b' }, forever), { kind: 'overloaded' });
    first.release();
    at(2);
    second.release();
    await containers.open({ workspace: 'b' }, forever);
    assert.deepEqual(
      started.map((process) => process.isKilled()),
      [false, true, false],
    );
  });

  test('programs of one run one after the other, and inputs go with the first', async () => {
    const { containers, started } = open();
    const held = await containers.open({ workspace: 'a', inputs: async () => [{ name: 'x', bytes: '' }] }, forever);
    const outputs = await Promise.all([held.run('1', forever), held.run('2', forever)]);
    assert.deepEqual(
      outputs.map(({ value }) => value),
      ['1', '2'],
    );
    assert.deepEqual(started[0]?.asked, ['1,x', '2']);
  });

  test('files that no program asked for are not read, and not held for the next one', async () => {
    const { containers, started } = open();
    let reads = 0;
    const inputs = async () => [{ name: `x${++reads}`, bytes: '' }];
    const first = await containers.open({ workspace: 'a', inputs }, forever);
    for (let times = 0; times < 3; times++) {
      const idle = await containers.open({ workspace: 'a', containerId: first.id, inputs }, forever);
      idle.release();
    }
    const last = await containers.open({ workspace: 'a', containerId: first.id }, forever);
    await last.run('1', forever);
    assert.equal(reads, 0);
    await first.run('2', forever);
    assert.deepEqual(started[0]?.asked, ['1', '2,x1']);
  });

  test('whoever gives up waiting for a program of somebody else does so at once, and nothing runs beside it', async () => {
    const { containers, started } = open();
    const held = await containers.open({ workspace: 'a' }, forever);
    const file = Promise.withResolvers<readonly []>();
    const slow = await containers.open({ workspace: 'a', containerId: held.id, inputs: () => file.promise }, forever);
    const first = slow.run('1', forever);
    const end = new AbortController();
    const second = held.run('2', end.signal);
    const third = held.run('3', forever);
    end.abort(new Error('gone'));
    await assert.rejects(second, { message: 'gone' });
    assert.deepEqual(started[0]?.asked, []);
    file.resolve([]);
    await Promise.all([first, third]);
    assert.deepEqual(started[0]?.asked, ['1', '3']);
    assert.equal(started[0]?.isKilled(), false);
  });

  test('one that a limit ended is gone, and says so to whoever asks again', async () => {
    const { containers, started } = open();
    const held = await containers.open({ workspace: 'a' }, forever);
    assert.equal((await held.run('loop', forever)).error?.type, 'time');
    assert.equal(started[0]?.isKilled(), true);
    assert.equal((await held.run('1', forever)).error?.type, 'lost');
    const next = await containers.open({ workspace: 'a', containerId: held.id }, forever);
    assert.notEqual(next.id, held.id);
  });

  test('a process in reserve is taken, and another one takes its place', async () => {
    const { containers, started } = open({ warm: 1 });
    assert.equal(started.length, 1);
    const held = await containers.open({ workspace: 'a' }, forever);
    await held.run('1', forever);
    assert.deepEqual(started[0]?.asked, ['1']);
    assert.equal(started.length, 2);
  });

  test('one that does not start is an overloaded service, and leaves its place', async () => {
    const { containers } = open({ fails: true, containersMax: 1 });
    for (let round = 0; round < 3; round++) {
      await assert.rejects(containers.open({ workspace: 'a' }, forever), { kind: 'overloaded' });
    }
  });

  test('a program that is too long is refused', async () => {
    const { containers, started } = open();
    const held = await containers.open({ workspace: 'a' }, forever);
    await assert.rejects(held.run('x'.repeat(CODE_PROGRAM_BYTES_MAX + 1), forever), { kind: 'too-large' });
    assert.deepEqual(started[0]?.asked, []);
  });

  test('an aborted caller gets its reason', async () => {
    const { containers } = open();
    const end = AbortSignal.abort(new Error('gone'));
    await assert.rejects(containers.open({ workspace: 'a' }, end), { message: 'gone' });
    const held = await containers.open({ workspace: 'a' }, forever);
    await assert.rejects(held.run('1', end), { message: 'gone' });
  });
});
