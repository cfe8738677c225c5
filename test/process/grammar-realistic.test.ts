import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertGrammarsEnforceSchemas } from '../../src/grammar/__fixtures__/assert-grammars-enforce-schemas.ts';
import { REALISTIC_SCHEMAS } from '../../src/grammar/__fixtures__/realistic-schemas.ts';

test('enforces 200 realistic schemas completely', () => {
  assert.equal(new Set(REALISTIC_SCHEMAS.map(({ name }) => name)).size, 200);
  assertGrammarsEnforceSchemas(REALISTIC_SCHEMAS, { walks: 4 });
});
