import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shareOut } from './section-room.ts';

describe('the room of a report', () => {
  it('is shared out evenly, and what a part cannot fill goes to the others', () => {
    assert.deepEqual(shareOut(900, [1_000, 1_000, 1_000]), [300, 300, 300]);
    assert.deepEqual(shareOut(900, [1_000, 100, 1_000]), [400, 100, 400]);
    assert.deepEqual(shareOut(900, [50, 0, 100]), [50, 0, 100]);
    assert.deepEqual(shareOut(0, [50]), [0]);
  });
});
