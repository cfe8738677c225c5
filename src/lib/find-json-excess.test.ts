import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findJsonExcess } from './find-json-excess.ts';
import { isDeeperThan } from './json-depth.ts';

const NO_LIMITS = { valuesMax: Infinity, membersMax: Infinity, depthMax: Infinity };
const find = (text: string, limits: Partial<typeof NO_LIMITS>) =>
  findJsonExcess(Buffer.from(text), { ...NO_LIMITS, ...limits });

test('counts values, members and levels, one at the limit and one beyond', () => {
  const text = '{"a":[1,2],"b":{"c":[]}}';
  assert.equal(find(text, { valuesMax: 6, membersMax: 3, depthMax: 3 }), undefined);
  assert.equal(find(text, { valuesMax: 5 }), 'values');
  assert.equal(find(text, { membersMax: 2 }), 'members');
  assert.equal(find(text, { depthMax: 2 }), 'depth');
});

test('counts nothing inside strings, whatever they escape', () => {
  const limits = { valuesMax: 1, membersMax: 1, depthMax: 1 };
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('"', '\\', '{', '[', ',', ':', 'é') }), (text) => {
      assert.equal(find(JSON.stringify({ [text]: text }), limits), undefined);
    }),
  );
});

test('finds the same depth in the text as in the value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat({ max: 7 }), (value, depthMax) => {
      assert.equal(find(JSON.stringify(value), { depthMax }) === 'depth', isDeeperThan(value, depthMax));
    }),
  );
});

test('ends at text that is cut anywhere', () => {
  for (const text of ['"', '"\\', '{"a":"b', '}}}'])
    assert.equal(find(text, { valuesMax: 9, membersMax: 9, depthMax: 9 }), undefined);
});
