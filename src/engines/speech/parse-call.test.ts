import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEmbedding } from './parse-call.ts';

const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

test('texts for vectors are taken from calls of every priority that there is, or refused by name', () => {
  const call = { id: 'a', owner: { workspace: 'w', key: 'k' }, inputs: [{ text: 'Hi', field: 'input' }] };
  for (const priority of ['reserved', 'live', 'background']) {
    const owned = { ...call, owner: { ...call.owner, priority } };
    assert.deepEqual(parseEmbedding(bytesOf(owned)), owned);
  }
  const urgent = { ...call, owner: { ...call.owner, priority: 'urgent' } };
  assert.throws(() => parseEmbedding(bytesOf(urgent)), /owner\.priority must be one of reserved, live, background/);
  assert.throws(() => parseEmbedding(bytesOf({ ...call, inputs: [] })), /inputs must not be empty/);
});
