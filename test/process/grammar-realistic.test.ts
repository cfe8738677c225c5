import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enforcedInWhole } from '../../src/grammar/__fixtures__/enforced-in-whole.ts';
import { schemas } from '../../src/grammar/__fixtures__/schemas.ts';

test('200 schemas as callers write them are enforced in whole', () => {
  assert.equal(new Set(schemas.map(({ name }) => name)).size, 200);
  enforcedInWhole(schemas, { walks: 4 });
});
