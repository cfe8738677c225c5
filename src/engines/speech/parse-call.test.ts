import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEmbeddingCall } from './parse-call.ts';

const encodeJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

test('parseEmbeddingCall accepts every priority, and rejects invalid fields by name', () => {
  const call = { id: 'a', owner: { workspace: 'w', key: 'k' }, inputs: [{ text: 'Hi', field: 'input' }] };
  for (const priority of ['reserved', 'live', 'background']) {
    const owned = { ...call, owner: { ...call.owner, priority } };
    assert.deepEqual(parseEmbeddingCall(encodeJson(owned)), owned);
  }
  const urgent = { ...call, owner: { ...call.owner, priority: 'urgent' } };
  assert.throws(
    () => parseEmbeddingCall(encodeJson(urgent)),
    /owner\.priority must be one of reserved, live, background/,
  );
  assert.throws(() => parseEmbeddingCall(encodeJson({ ...call, inputs: [] })), /inputs must not be empty/);
});
