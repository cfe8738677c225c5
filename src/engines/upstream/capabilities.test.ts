import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SERVER_KINDS } from '../../core/server-kind.ts';
import { capabilitiesOf } from './capabilities.ts';

const of = (kind: (typeof SERVER_KINDS)[number], forward: readonly string[] = []) =>
  capabilitiesOf({ kind, abilities: {} }, forward);

test('what an operator declares is passed on besides, but nothing that is ours to say', () => {
  assert.deepEqual(of('unknown', ['top_a', 'stream', 'messages', 'n', 'top_a']).forwards, ['top_a']);
  assert.ok(of('vllm', ['my_field']).forwards?.includes('my_field'));
  assert.ok(of('vllm').forwards?.includes('structured_outputs'));
  // Of the words before those, it ignores all and says nothing.
  assert.ok(!of('vllm').forwards?.some((name) => name.startsWith('guided_')));
  for (const kind of SERVER_KINDS) assert.ok(!of(kind, ['stream', 'max_tokens']).forwards?.includes('max_tokens'));
});

test('callers are told of the wishes that a server has no word for', () => {
  assert.deepEqual(of('openai').unheardSampling, ['topK', 'minP', 'repetitionPenalty']);
  for (const kind of ['vllm', 'sglang', 'llama-server', 'unknown'] as const)
    assert.equal(of(kind).unheardSampling, undefined);
});

test('a server runs no more answers of a request than it has places for', () => {
  assert.equal(capabilitiesOf({ kind: 'llama-server', abilities: {}, choicesMax: 1 }, []).choicesMax, 1);
  assert.equal(of('vllm').choicesMax, 4);
});
