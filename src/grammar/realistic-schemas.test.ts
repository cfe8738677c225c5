import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertGrammarsEnforceSchemas } from './__fixtures__/assert-grammars-enforce-schemas.ts';
import { HAND_WRITTEN_SCHEMAS } from './__fixtures__/realistic-schemas.ts';

// test/process/grammar-realistic.test.ts tests all 200.

test('grammars enforce 20 realistic schemas completely', () => {
  assert.equal(HAND_WRITTEN_SCHEMAS.length, 20);
  assertGrammarsEnforceSchemas(HAND_WRITTEN_SCHEMAS, { walks: 2 });
});
