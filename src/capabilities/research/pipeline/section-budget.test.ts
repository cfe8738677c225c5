import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { distributeTokens } from './section-budget.ts';

describe('distributeTokens', () => {
  it('distributes evenly, and passes what a section cannot fill to the others', () => {
    assert.deepEqual(distributeTokens(900, [1_000, 1_000, 1_000]), [300, 300, 300]);
    assert.deepEqual(distributeTokens(900, [1_000, 100, 1_000]), [400, 100, 400]);
    assert.deepEqual(distributeTokens(900, [50, 0, 100]), [50, 0, 100]);
    assert.deepEqual(distributeTokens(0, [50]), [0]);
  });
});
