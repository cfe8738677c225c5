import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeProgress } from './describe-index.ts';

describe('describeProgress', () => {
  it('shows how many documents were read, and how many of how many have vectors', () => {
    assert.equal(describeProgress({ step: 'reading', done: 7, reference: 'a.md' }), '7 read: a.md');
    assert.equal(
      describeProgress({ step: 'vectors', done: 40, total: 300, reference: 'Chapter 5' }),
      'searchable by words; 40 of 300 with vectors (13 %): Chapter 5',
    );
  });
});
