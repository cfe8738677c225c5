import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SERVER_KINDS } from '../../core/server-kind.ts';
import { getUpstreamCapabilities } from './capabilities.ts';

const getCapabilities = (kind: (typeof SERVER_KINDS)[number], forward: readonly string[] = []) =>
  getUpstreamCapabilities({ kind, abilities: {} }, forward);

test('forwards declared fields, except those that Parley sets', () => {
  assert.deepEqual(getCapabilities('unknown', ['top_a', 'stream', 'messages', 'n', 'top_a']).forwardableFields, [
    'top_a',
  ]);
  assert.ok(getCapabilities('vllm', ['my_field']).forwardableFields?.includes('my_field'));
  assert.ok(getCapabilities('vllm').forwardableFields?.includes('structured_outputs'));
  // The server silently ignores the other fields.
  assert.ok(!getCapabilities('vllm').forwardableFields?.some((name) => name.startsWith('guided_')));
  for (const kind of SERVER_KINDS)
    assert.ok(!getCapabilities(kind, ['stream', 'max_tokens']).forwardableFields?.includes('max_tokens'));
});

test('lists the sampling options that a server does not support', () => {
  assert.deepEqual(getCapabilities('openai').ignoredSampling, ['topK', 'minP', 'repetitionPenalty']);
  for (const kind of ['vllm', 'sglang', 'llama-server', 'unknown'] as const)
    assert.equal(getCapabilities(kind).ignoredSampling, undefined);
});

test('limits choices to the slots of the server', () => {
  assert.equal(getUpstreamCapabilities({ kind: 'llama-server', abilities: {}, choicesMax: 1 }, []).choicesMax, 1);
  assert.equal(getCapabilities('vllm').choicesMax, 4);
});
