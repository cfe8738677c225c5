import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decodeRow, encodeChanges, encodeRow } from './row-codec.ts';

describe('row codec', () => {
  test('converts the names of columns and fields', () => {
    const row = { id: 'a', created_at: 1, in_progress_at: 2, md5: 'b' };
    const record = { id: 'a', createdAt: 1, inProgressAt: 2, md5: 'b' };
    assert.deepEqual(decodeRow(row), record);
    assert.deepEqual(encodeRow(record), row);
  });

  test('converts null to undefined and back, and no other value', () => {
    const row: { ended_at: number | null; text: string } = { ended_at: null, text: '' };
    assert.deepEqual(decodeRow(row), { endedAt: undefined, text: '' });
    assert.deepEqual(encodeRow({ endedAt: undefined, attempt: 0 }), { ended_at: null, attempt: 0 });
  });

  test('keeps undefined in changes, which leaves the column as it is', () => {
    assert.deepEqual(encodeChanges({ endedAt: undefined, linesUntil: 5 }), { ended_at: undefined, lines_until: 5 });
  });

  test('copies a row without a prototype to a plain object', () => {
    const row: object = Object.assign(Object.create(null), { id: 'a' });
    assert.equal(Object.getPrototypeOf(decodeRow(row)), Object.prototype);
  });
});
