import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMessageCalls } from './message-calls.ts';
import type { Answers, MessageCalls } from './message-calls.ts';

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

/** Two ends of a channel that carries JSON. */
function createChannel(left: Partial<Answers<Left>> = {}) {
  const carry = (message: object, to: () => MessageCalls<never>): void => {
    const text = JSON.stringify(message);
    queueMicrotask(() => to().receive(JSON.parse(text)));
  };
  const answers: Answers<Left> = {
    add: ({ one, other }) => one + other,
    fail: (message) => {
      throw new Error(message);
    },
    wait: () => new Promise(() => undefined),
    ...left,
  };
  const atLeft: MessageCalls<Right> = createMessageCalls<Right, Left>({
    send: (message) => carry(message, () => atRight),
    answers,
    errors,
  });
  const atRight: MessageCalls<Left> = createMessageCalls<Left, Right>({
    send: (message) => carry(message, () => atLeft),
    answers: { double: async (text) => text + text },
    errors,
  });
  return { atLeft, atRight };
}

describe('calls over messages', () => {
  it('are answered in both directions, each with its own answer', async () => {
    const { atLeft, atRight } = createChannel();
    const [sum, text, other] = await Promise.all([
      atRight.ask('add', { one: 1, other: 2 }),
      atLeft.ask('double', 'ab'),
      atRight.ask('add', { one: 3, other: 4 }),
    ]);
    assert.deepEqual([sum, text, other], [3, 'abab', 7]);
  });

  it('fail as the other side failed', async () => {
    const { atRight } = createChannel();
    await assert.rejects(atRight.ask('fail', 'no such thing'), /there: Error: no such thing/);
  });

  it('end with their signal, and with the other side', async () => {
    const { atRight } = createChannel();
    const leaving = new AbortController();
    const left = assert.rejects(atRight.ask('wait', null, leaving.signal), /enough/);
    leaving.abort(new Error('enough'));
    await left;
    await assert.rejects(atRight.ask('wait', null, leaving.signal), /enough/);
    const waiting = assert.rejects(atRight.ask('wait', null), /it is gone/);
    atRight.end(new Error('it is gone'));
    await waiting;
    await assert.rejects(atRight.ask('add', { one: 1, other: 1 }), /it is gone/);
  });

  it('pass over messages that are none of theirs, and names that nobody has', async () => {
    const told = Promise.withResolvers<object>();
    const calls = createMessageCalls<Left, object>({ send: told.resolve, answers: {}, errors });
    for (const message of [undefined, null, 'text', { type: 'answer', id: 99, result: 1 }, { id: 1 }])
      calls.receive(message);
    calls.receive({ type: 'ask', id: 7, name: 'constructor', argument: null });
    assert.deepEqual(await told.promise, { type: 'failure', id: 7, error: 'TypeError: there is no constructor' });
  });
});
