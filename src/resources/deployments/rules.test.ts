import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeployableName, checkSuffix, cleanReason, parseTargetCapacity } from './rules.ts';

const MU = { plan: 'mu', baseCapacity: 1, capacityMax: 999 } as const;
const PTU = { ...MU, plan: 'ptu' } as const;
const TOKENS = { inputTpm: 1, outputTpm: 0, thinkingOutputTpm: 0 };

test('accepts every integer capacity from 0 to 999', () => {
  for (const capacity of [0, 1, 999])
    assert.deepEqual(parseTargetCapacity({ capacity }, MU), { capacity, ptu: undefined });
});

for (const capacity of [-1, 1000, 1.5, Number.NaN, Infinity, 1e300, '"1"', 'an object']) {
  test(`refuses a capacity of ${capacity} with the prescribed message`, () => {
    assert.throws(() => parseTargetCapacity({ capacity }, MU), {
      kind: 'invalid-request',
      param: 'capacity',
      message: `Invalid capacity (${capacity}), capacity must be larger than or equal to 0 and multiples of 1 and less than 1000!`,
    });
  });
}

test('names the capacity unit and the configured maximum', () => {
  const rules = { plan: 'cu', baseCapacity: 4, capacityMax: 16 } as const;
  assert.equal(parseTargetCapacity({ capacity: 8 }, rules).capacity, 8);
  for (const capacity of [6, 20])
    assert.throws(() => parseTargetCapacity({ capacity }, rules), {
      message: `Invalid capacity (${capacity}), capacity must be larger than or equal to 0 and multiples of 4 and less than 17!`,
    });
});

test('requires the capacity field of the plan and refuses the other one', () => {
  assert.throws(() => parseTargetCapacity({}, MU), {
    param: 'capacity',
    message: 'capacity is required with plan mu.',
  });
  assert.throws(() => parseTargetCapacity({ capacity: 1, ptu: TOKENS }, MU), { param: 'ptu_capacity' });
  assert.throws(() => parseTargetCapacity({}, PTU), { param: 'ptu_capacity' });
  assert.throws(() => parseTargetCapacity({ capacity: 1, ptu: TOKENS }, PTU), { param: 'capacity' });
  assert.deepEqual(parseTargetCapacity({ ptu: TOKENS }, PTU), { capacity: 1, ptu: TOKENS });
});

test('treats a reservation of 0 tokens as a capacity of 0', () => {
  assert.equal(parseTargetCapacity({ ptu: { ...TOKENS, inputTpm: 0 } }, PTU).capacity, 0);
});

test('accepts suffixes of 1 to 8 lower-case letters, digits and hyphens', () => {
  for (const suffix of ['a', 'a-b-0', '12345678']) checkSuffix(suffix);
  for (const suffix of ['', '123456789', 'A', 'a b', 'ü', 'a/b', 'a\n'])
    assert.throws(() => checkSuffix(suffix), { kind: 'invalid-request', param: 'suffix' }, suffix);
});

test('accepts only model names that can be part of a path', () => {
  for (const name of ['svc-plus', 'qwen2.5-7b@x', 'org/model:1']) assert.ok(isDeployableName(name), name);
  for (const name of ['', 'a b', 'a\0', 'a\n', 'x'.repeat(129)]) assert.ok(!isDeployableName(name), name);
});

test('shortens and sanitizes a reason', () => {
  assert.equal(cleanReason(`a\0${'b'.repeat(600)}`).length, 499);
  assert.equal(cleanReason('\ud800'), '\ufffd');
});
