import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canBeNamed, checkSuffix, cleanReason, wantedOf } from './rules.ts';

const MU = { plan: 'mu', baseCapacity: 1, capacityMax: 999 } as const;
const PTU = { ...MU, plan: 'ptu' } as const;
const TOKENS = { inputTpm: 1, outputTpm: 0, thinkingOutputTpm: 0 };

test('takes every whole capacity from 0 to 999', () => {
  for (const capacity of [0, 1, 999]) assert.deepEqual(wantedOf({ capacity }, MU), { capacity, ptu: undefined });
});

for (const capacity of [-1, 1000, 1.5, Number.NaN, Infinity, 1e300, '"1"', 'an object']) {
  test(`refuses a capacity of ${capacity} in the words of the specification`, () => {
    assert.throws(() => wantedOf({ capacity }, MU), {
      kind: 'invalid-request',
      param: 'capacity',
      message: `Invalid capacity (${capacity}), capacity must be larger than or equal to 0 and multiples of 1 and less than 1000!`,
    });
  });
}

test('says what a capacity is a multiple of, and where the operator ends it', () => {
  const rules = { plan: 'cu', baseCapacity: 4, capacityMax: 16 } as const;
  assert.equal(wantedOf({ capacity: 8 }, rules).capacity, 8);
  for (const capacity of [6, 20])
    assert.throws(() => wantedOf({ capacity }, rules), {
      message: `Invalid capacity (${capacity}), capacity must be larger than or equal to 0 and multiples of 4 and less than 17!`,
    });
});

test('needs what the plan counts in, and refuses what it does not', () => {
  assert.throws(() => wantedOf({}, MU), { param: 'capacity', message: 'capacity is required with plan mu.' });
  assert.throws(() => wantedOf({ capacity: 1, ptu: TOKENS }, MU), { param: 'ptu_capacity' });
  assert.throws(() => wantedOf({}, PTU), { param: 'ptu_capacity' });
  assert.throws(() => wantedOf({ capacity: 1, ptu: TOKENS }, PTU), { param: 'capacity' });
  assert.deepEqual(wantedOf({ ptu: TOKENS }, PTU), { capacity: 1, ptu: TOKENS });
});

test('a reservation of no tokens at all is a capacity of 0', () => {
  assert.equal(wantedOf({ ptu: { ...TOKENS, inputTpm: 0 } }, PTU).capacity, 0);
});

test('takes suffixes of 1 to 8 lower-case letters, digits and hyphens', () => {
  for (const suffix of ['a', 'a-b-0', '12345678']) checkSuffix(suffix);
  for (const suffix of ['', '123456789', 'A', 'a b', 'ü', 'a/b', 'a\n'])
    assert.throws(() => checkSuffix(suffix), { kind: 'invalid-request', param: 'suffix' }, suffix);
});

test('names can stand in a path', () => {
  for (const name of ['svc-plus', 'qwen2.5-7b@x', 'org/model:1']) assert.ok(canBeNamed(name), name);
  for (const name of ['', 'a b', 'a\0', 'a\n', 'x'.repeat(129)]) assert.ok(!canBeNamed(name), name);
});

test('keeps of a reason what can be kept', () => {
  assert.equal(cleanReason(`a\0${'b'.repeat(600)}`).length, 499);
  assert.equal(cleanReason('\ud800'), '\ufffd');
});
