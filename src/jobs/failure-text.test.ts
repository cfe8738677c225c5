import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { JOB_ERROR_CHARS_MAX } from '../core/limits.ts';
import { failureText } from './failure-text.ts';

describe('why a job failed, in words', () => {
  it('says also what the caller is not told, once', () => {
    assert.equal(failureText(new Error('failed', { cause: new Error('no disk') })), 'failed (no disk)');
    assert.equal(failureText(new Error('failed: no disk', { cause: new Error('no disk') })), 'failed: no disk');
    assert.equal(failureText('plain'), 'plain');
  });

  it('is cut where it is long', () => {
    const text = failureText(new Error('x'.repeat(5_000)));
    assert.equal(text.length, JOB_ERROR_CHARS_MAX);
    assert.ok(text.endsWith('x…'));
  });
});
