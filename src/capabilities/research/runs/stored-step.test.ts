import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeStep, encodeStep } from './stored-step.ts';

test('stores a step of a research run under the property names of the first release, and reads it back', () => {
  const step = { events: [{ type: 'plan', text: 'First the basics.' }], state: { type: 'plan' } } as const;
  const json = encodeStep(step);
  assert.equal(json, '{"tell":[{"type":"plan","text":"First the basics."}],"keep":{"type":"plan"}}');
  assert.deepEqual(decodeStep(json), step);
});
