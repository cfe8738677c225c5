import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { JOB_ERROR_CHARS_MAX } from './limits.ts';
import { formatFailure } from './format-failure.ts';

describe('formatFailure', () => {
  it('includes the cause once', () => {
    assert.equal(formatFailure(new Error('failed', { cause: new Error('no disk') })), 'failed (no disk)');
    assert.equal(formatFailure(new Error('failed: no disk', { cause: new Error('no disk') })), 'failed: no disk');
    assert.equal(formatFailure('plain'), 'plain');
  });

  it('truncates long texts', () => {
    const text = formatFailure(new Error('x'.repeat(5_000)));
    assert.equal(text.length, JOB_ERROR_CHARS_MAX);
    assert.ok(text.endsWith('x…'));
  });
});
