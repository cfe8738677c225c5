import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorCodec } from '../../core/error-codec.ts';
import { ServiceError } from '../../core/error.ts';
import { createMessageCalls } from '../../lib/message-calls.ts';
import type { MessageCalls } from '../../lib/message-calls.ts';
import type { Supervised } from '../supervisor.ts';
import { createGuestDesk } from './guest-desk.ts';
import type { SupervisedLease } from './guest-desk.ts';
import type { GuestFunctions, HostFunctions } from './protocol.ts';
import { openSharedEngine } from './shared-engine.ts';

interface Up {
  readonly pid: number;
}

const parse = (value: unknown): Up => value as Up;

/** A child that lives and dies as the test says. */
function createChild() {
  let pid = 1;
  let fault: ServiceError | undefined;
  let up: Up = { pid };
  const heard: Up[] = [];
  const supervised: Supervised<Up> = {
    state: 'ready',
    async ready() {
      if (fault) throw fault;
      return up;
    },
    async gone(ready) {
      heard.push(ready);
      return ready !== up;
    },
    stop: () => Promise.resolve(),
  };
  return {
    supervised,
    /** Whom callers have found dead. */
    heard,
    restart(): void {
      up = { pid: ++pid };
    },
    fail(error: ServiceError | undefined): void {
      fault = error;
    },
  };
}

/** A host with one guest; what crosses is JSON. */
function createHouse(open: (model: string) => Promise<SupervisedLease>) {
  const asked: string[] = [];
  const desk = createGuestDesk(open);
  const pass = (message: object, to: () => { receive(message: unknown): void }): void => {
    const text = JSON.stringify(message);
    queueMicrotask(() => to().receive(JSON.parse(text)));
  };
  const guest: MessageCalls<HostFunctions> = createMessageCalls<HostFunctions, GuestFunctions>({
    send(message) {
      if ('name' in message) asked.push(String(message.name));
      pass(message, () => host);
    },
    answers: { 'engine.recall': () => undefined },
    errors: errorCodec,
  });
  const host: MessageCalls<GuestFunctions> = createMessageCalls<GuestFunctions, HostFunctions>({
    send: (message) => pass(message, () => guest),
    answers: desk.answers,
    errors: errorCodec,
  });
  let now = 0;
  const clock = { monotonic: () => now };
  return {
    desk,
    asked,
    pass: (ms: number): void => void (now += ms),
    open: (model = 'some') => openSharedEngine({ host: guest, model, parse, clock }),
  };
}

/** A house whose host has one child; `releases` are the idle times that were told. */
function createSharedChild() {
  const child = createChild();
  const releases: (number | undefined)[] = [];
  const house = createHouse(async () => ({
    supervised: child.supervised,
    release: (idleMs) => void releases.push(idleMs),
  }));
  return { ...house, child, releases };
}

describe('an engine that another process keeps', () => {
  it('is asked for once: the same child is the same object, and costs no message', async () => {
    const { open, asked } = createSharedChild();
    const engine = await open();
    assert.equal(engine.state, 'starting');
    const [one, other] = await Promise.all([engine.ready(), engine.ready()]);
    assert.deepEqual(one, { pid: 1 });
    assert.equal(one, other);
    const before = asked.length;
    assert.equal(await engine.ready(), one);
    assert.equal(asked.length, before);
    assert.equal(engine.state, 'ready');
  });

  it('is another one after a caller has found it dead', async () => {
    const { open, child, asked } = createSharedChild();
    const engine = await open();
    const first = await engine.ready();
    child.restart();
    assert.equal(await engine.gone(first), true);
    assert.equal(engine.state, 'starting');
    const second = await engine.ready();
    assert.deepEqual(second, { pid: 2 });
    assert.deepEqual(child.heard, [{ pid: 1 }]);
    const before = asked.length;
    assert.equal(await engine.gone(first), true, 'known already');
    assert.equal(asked.length, before);
    assert.equal(await engine.ready(), second);
  });

  it('stays the same one where the host sees it live, whatever a caller thinks', async () => {
    const { open } = createSharedChild();
    const engine = await open();
    const first = await engine.ready();
    assert.equal(await engine.gone(first), false);
    assert.equal(await engine.ready(), first);
  });

  it('fails with the reason that the host has, and is asked for again', async () => {
    const { open, child } = createSharedChild();
    const engine = await open();
    child.fail(new ServiceError('overloaded', 'It does not start.', { retryAfterSeconds: 5 }));
    await assert.rejects(engine.ready(), { kind: 'overloaded', message: 'It does not start.', retryAfterSeconds: 5 });
    assert.equal(engine.state, 'failing');
    child.fail(undefined);
    assert.deepEqual(await engine.ready(), { pid: 1 });
    assert.equal(engine.state, 'ready');
  });

  it('keeps nobody waiting who has left', async () => {
    const starting = { ...createChild().supervised, ready: () => new Promise<Up>(() => undefined) };
    const engine = await createHouse(async () => ({ supervised: starting, release: () => undefined })).open();
    const leaving = new AbortController();
    const left = assert.rejects(engine.ready(leaving.signal), { kind: 'cancelled' });
    leaving.abort();
    await left;
    assert.equal(engine.state, 'starting');
  });

  it('is released with the time since it was called last', async () => {
    const { open, releases, pass } = createSharedChild();
    const engine = await open();
    pass(1_000);
    await engine.ready();
    pass(300);
    await engine.stop();
    assert.deepEqual(releases, [300]);
    await assert.rejects(
      engine
        .ready()
        .then(() => engine.gone({ pid: 1 }))
        .then(() => engine.stop()),
      {
        kind: 'overloaded',
      },
    );
  });

  it('is released when its guest ends, also where it was still being made', async () => {
    const { open, desk, releases, child } = createSharedChild();
    await open();
    await open();
    desk.end();
    assert.deepEqual(releases, [undefined, undefined]);

    const making = Promise.withResolvers<SupervisedLease>();
    const late = Promise.withResolvers<void>();
    const house = createHouse(() => making.promise);
    const opened = house.open();
    house.desk.end();
    making.resolve({ supervised: child.supervised, release: () => late.resolve() });
    await late.promise;
    await opened;
  });

  it('cannot be had where the host refuses it', async () => {
    const refusal = new ServiceError('overloaded', 'The weights are downloading.', { retryAfterSeconds: 30 });
    const { open } = createHouse(() => Promise.reject(refusal));
    await assert.rejects(open(), { kind: 'overloaded', message: refusal.message, retryAfterSeconds: 30 });
  });
});
