import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorCodec } from '../../core/error-codec.ts';
import { ServiceError } from '../../core/error.ts';
import { createRpcPeer, type RpcPeer } from '../../lib/rpc-peer.ts';
import type { SupervisedProcess } from '../supervisor.ts';
import { createLeaseTable, type SupervisedLease } from './lease-table.ts';
import type { EngineClientFunctions, EngineHostFunctions } from './protocol.ts';
import { openSharedEngine } from './shared-engine.ts';

interface Ready {
  readonly pid: number;
}

/** Creates a supervised process that the test can restart or fail. */
function createChild() {
  let pid = 1;
  let fault: ServiceError | undefined;
  let current: Ready = { pid };
  const confirmed: Ready[] = [];
  const supervised: SupervisedProcess<Ready> = {
    state: 'ready',
    async waitUntilReady() {
      if (fault) throw fault;
      return current;
    },
    async confirmExit(ready) {
      confirmed.push(ready);
      return ready !== current;
    },
    stop: () => Promise.resolve(),
  };
  return {
    supervised,
    /** Processes that callers reported as dead. */
    confirmed,
    restart(): void {
      current = { pid: ++pid };
    },
    fail(error: ServiceError | undefined): void {
      fault = error;
    },
  };
}

/** Creates a host with one client; all messages are converted to JSON. */
function createTestHost(open: (model: string) => Promise<SupervisedLease>) {
  const calls: string[] = [];
  const leaseTable = createLeaseTable(open);
  const pass = (message: object, to: () => { receive(message: unknown): void }): void => {
    const text = JSON.stringify(message);
    queueMicrotask(() => to().receive(JSON.parse(text)));
  };
  const client: RpcPeer<EngineHostFunctions> = createRpcPeer<EngineHostFunctions, EngineClientFunctions>({
    send(message) {
      if ('name' in message) calls.push(String(message.name));
      pass(message, () => host);
    },
    handlers: { 'engine.recall': () => undefined },
    errors: errorCodec,
  });
  const host: RpcPeer<EngineClientFunctions> = createRpcPeer<EngineClientFunctions, EngineHostFunctions>({
    send: (message) => pass(message, () => client),
    handlers: leaseTable.handlers,
    errors: errorCodec,
  });
  let now = 0;
  const clock = { monotonic: () => now };
  return {
    leaseTable,
    calls,
    pass: (ms: number): void => void (now += ms),
    open: (model = 'some') => openSharedEngine<Ready>(model, { host: client, clock }),
  };
}

/** Creates a host with one process; `releases` records the reported idle times. */
function createSharedChild() {
  const child = createChild();
  const releases: (number | undefined)[] = [];
  const testHost = createTestHost(async () => ({
    supervised: child.supervised,
    release: (idleMs) => void releases.push(idleMs),
  }));
  return { ...testHost, child, releases };
}

describe('an engine of another process', () => {
  it('is requested once: the same process is the same object', async () => {
    const { open, calls } = createSharedChild();
    const engine = await open();
    assert.equal(engine.state, 'starting');
    const [one, other] = await Promise.all([engine.waitUntilReady(), engine.waitUntilReady()]);
    assert.deepEqual(one, { pid: 1 });
    assert.equal(one, other);
    const before = calls.length;
    assert.equal(await engine.waitUntilReady(), one);
    assert.equal(calls.length, before);
    assert.equal(engine.state, 'ready');
  });

  it('is requested again after a caller found it dead', async () => {
    const { open, child, calls } = createSharedChild();
    const engine = await open();
    const first = await engine.waitUntilReady();
    child.restart();
    assert.equal(await engine.confirmExit(first), true);
    assert.equal(engine.state, 'starting');
    const second = await engine.waitUntilReady();
    assert.deepEqual(second, { pid: 2 });
    assert.deepEqual(child.confirmed, [{ pid: 1 }]);
    const before = calls.length;
    assert.equal(await engine.confirmExit(first), true, 'the exit is already known');
    assert.equal(calls.length, before);
    assert.equal(await engine.waitUntilReady(), second);
  });

  it('stays the same if the host knows that it is alive', async () => {
    const { open } = createSharedChild();
    const engine = await open();
    const first = await engine.waitUntilReady();
    assert.equal(await engine.confirmExit(first), false);
    assert.equal(await engine.waitUntilReady(), first);
  });

  it('fails with the error of the host, and is requested again', async () => {
    const { open, child } = createSharedChild();
    const engine = await open();
    child.fail(new ServiceError('overloaded', 'It does not start.', { retryAfterSeconds: 5 }));
    await assert.rejects(engine.waitUntilReady(), {
      kind: 'overloaded',
      message: 'It does not start.',
      retryAfterSeconds: 5,
    });
    assert.equal(engine.state, 'failing');
    child.fail(undefined);
    assert.deepEqual(await engine.waitUntilReady(), { pid: 1 });
    assert.equal(engine.state, 'ready');
  });

  it('rejects a canceled caller at once', async () => {
    const starting = { ...createChild().supervised, waitUntilReady: () => new Promise<Ready>(() => undefined) };
    const engine = await createTestHost(async () => ({ supervised: starting, release: () => undefined })).open();
    const leaving = new AbortController();
    const left = assert.rejects(engine.waitUntilReady(leaving.signal), { kind: 'cancelled' });
    leaving.abort();
    await left;
    assert.equal(engine.state, 'starting');
  });

  it('is released with its idle time', async () => {
    const { open, releases, pass } = createSharedChild();
    const engine = await open();
    pass(1_000);
    await engine.waitUntilReady();
    pass(300);
    await engine.stop();
    assert.deepEqual(releases, [300]);
    await assert.rejects(
      engine
        .waitUntilReady()
        .then(() => engine.confirmExit({ pid: 1 }))
        .then(() => engine.stop()),
      {
        kind: 'overloaded',
      },
    );
  });

  it('is released when its client disconnects, even during the start', async () => {
    const { open, leaseTable, releases, child } = createSharedChild();
    await open();
    await open();
    leaseTable.releaseAll();
    assert.deepEqual(releases, [undefined, undefined]);

    const making = Promise.withResolvers<SupervisedLease>();
    const late = Promise.withResolvers<void>();
    const testHost = createTestHost(() => making.promise);
    const opened = testHost.open();
    testHost.leaseTable.releaseAll();
    making.resolve({ supervised: child.supervised, release: () => late.resolve() });
    await late.promise;
    await opened;
  });

  it('is rejected with the error of the host', async () => {
    const refusal = new ServiceError('overloaded', 'The weights are downloading.', { retryAfterSeconds: 30 });
    const { open } = createTestHost(() => Promise.reject(refusal));
    await assert.rejects(open(), { kind: 'overloaded', message: refusal.message, retryAfterSeconds: 30 });
  });
});
