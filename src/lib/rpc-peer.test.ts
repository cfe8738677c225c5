import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRpcPeer, type RpcHandlers, type RpcPeer } from './rpc-peer.ts';

interface Left {
  add: (terms: { one: number; other: number }) => number;
  fail: (message: string) => void;
  wait: (none: null) => void;
}

interface Right {
  double: (text: string) => string;
}

const errors = {
  encode: (error: unknown) => String(error),
  decode: (encoded: unknown) => new Error(`there: ${String(encoded)}`),
};

/** Creates two peers whose channel carries JSON. */
function createChannel(left: Partial<RpcHandlers<Left>> = {}) {
  const carry = (message: object, to: () => RpcPeer<never>): void => {
    const text = JSON.stringify(message);
    queueMicrotask(() => to().receive(JSON.parse(text)));
  };
  const answers: RpcHandlers<Left> = {
    add: ({ one, other }) => one + other,
    fail: (message) => {
      throw new Error(message);
    },
    wait: () => new Promise(() => undefined),
    ...left,
  };
  const atLeft: RpcPeer<Right> = createRpcPeer<Right, Left>({
    send: (message) => carry(message, () => atRight),
    handlers: answers,
    errors,
  });
  const atRight: RpcPeer<Left> = createRpcPeer<Left, Right>({
    send: (message) => carry(message, () => atLeft),
    handlers: { double: async (text) => text + text },
    errors,
  });
  return { atLeft, atRight };
}

describe('createRpcPeer', () => {
  it('answers calls in both directions, each with its own result', async () => {
    const { atLeft, atRight } = createChannel();
    const [sum, text, other] = await Promise.all([
      atRight.call('add', { one: 1, other: 2 }),
      atLeft.call('double', 'ab'),
      atRight.call('add', { one: 3, other: 4 }),
    ]);
    assert.deepEqual([sum, text, other], [3, 'abab', 7]);
  });

  it('rejects a call with the error of the other side', async () => {
    const { atRight } = createChannel();
    await assert.rejects(atRight.call('fail', 'no such thing'), /there: Error: no such thing/);
  });

  it('rejects a call when its signal aborts, and all calls when the peer is closed', async () => {
    const { atRight } = createChannel();
    const leaving = new AbortController();
    const left = assert.rejects(atRight.call('wait', null, leaving.signal), /enough/);
    leaving.abort(new Error('enough'));
    await left;
    await assert.rejects(atRight.call('wait', null, leaving.signal), /enough/);
    const waiting = assert.rejects(atRight.call('wait', null), /it is gone/);
    atRight.close(new Error('it is gone'));
    await waiting;
    await assert.rejects(atRight.call('add', { one: 1, other: 1 }), /it is gone/);
  });

  it('ignores messages of other protocols, and rejects calls of unknown functions', async () => {
    const sent = Promise.withResolvers<object>();
    const calls = createRpcPeer<Left, object>({ send: sent.resolve, handlers: {}, errors });
    for (const message of [undefined, null, 'text', { type: 'result', id: 99, result: 1 }, { id: 1 }])
      calls.receive(message);
    calls.receive({ type: 'call', id: 7, name: 'constructor', argument: null });
    assert.deepEqual(await sent.promise, { type: 'error', id: 7, error: 'TypeError: unknown function constructor' });
  });
});
