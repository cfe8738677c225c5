import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeNativeModel } from './__fixtures__/fake-native-model.ts';
import type { TokenInput } from './protocol.ts';
import { createTaskQueue } from './task-queue.ts';
import { createTokenizeInTurn } from './tokenize-in-turn.ts';
import { TooManyTokensError } from './tokenize-input.ts';

const createInput = (chars: number): TokenInput => ({
  type: 'segments',
  segments: [{ text: 'a'.repeat(chars), special: false }],
});

/** A tokenizer of 16 characters a token, and the order in which its texts were read: `owner:characters`. */
function createTestTokenizer() {
  const order: string[] = [];
  const model = createFakeNativeModel();
  const tokenizeInTurn = createTokenizeInTurn({
    between: (work) => work(),
    taskQueue: createTaskQueue({ queueLengthMax: 8, queueWaitMsMax: 60_000 }),
  });
  const tokenize = (workspace: string, chars: number, signal = new AbortController().signal) => {
    const tokenizer = {
      ...model,
      shouldPrependBos: false,
      loaded: { ...model.loaded, contextTokens: 20_000 },
      tokenize: (text: string) => {
        order.push(`${workspace}:${text.length}`);
        return Array.from({ length: Math.ceil(text.length / 16) }, () => 1);
      },
    };
    return tokenizeInTurn(tokenizer, createInput(chars), { owner: { workspace, key: workspace }, signal });
  };
  return { order, tokenize };
}

test('tokenizes a short text at once', async () => {
  const { order, tokenize } = createTestTokenizer();
  const result = tokenize('a', 1_600);
  assert.deepEqual(order, ['a:1600']);
  assert.equal((await result).tokens.length, 100);
});

test('checks a long text in parts, and alternates between workspaces', async () => {
  const { order, tokenize } = createTestTokenizer();
  const [first, second, third] = await Promise.all([
    tokenize('a', 140_000),
    tokenize('a', 140_000),
    tokenize('b', 20_000),
  ]);
  assert.deepEqual([first?.tokens.length, second?.tokens.length, third?.tokens.length], [8_750, 8_750, 1_250]);
  assert.equal(order[0], 'a:65536');
  assert.ok(order.indexOf('b:20000') <= 2, order.join(' '));
});

test('refuses a text that is too long, and goes on with the next one', async () => {
  const { order, tokenize } = createTestTokenizer();
  await assert.rejects(tokenize('a', 320_001), TooManyTokensError);
  assert.deepEqual(order, []);
  assert.equal((await tokenize('a', 20_000)).tokens.length, 1_250);
});

test('stops after the part that is being read when the client disconnects', async () => {
  const { order, tokenize } = createTestTokenizer();
  const client = new AbortController();
  const result = tokenize('a', 300_000, client.signal);
  client.abort();
  await assert.rejects(result, { kind: 'cancelled' });
  assert.ok(order.length <= 1, order.join(' '));
});
