import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enforcedInWhole } from './__fixtures__/enforced-in-whole.ts';
import { handWritten } from './__fixtures__/schemas.ts';

// All 200 are looked at in test/process/grammar-realistic.test.ts.

test('20 schemas as callers write them are enforced in whole', () => {
  assert.equal(handWritten.length, 20);
  enforcedInWhole(handWritten, { walks: 2 });
});
