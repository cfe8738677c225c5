import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeOutdated, describeProgress } from './describe-index.ts';

describe('describeProgress', () => {
  it('shows how many documents were read, and how many of how many have vectors', () => {
    assert.equal(describeProgress({ step: 'reading', done: 7, reference: 'a.md' }), '7 read: a.md');
    assert.equal(
      describeProgress({ step: 'vectors', done: 40, total: 300, reference: 'Chapter 5' }),
      'searchable by words; 40 of 300 with vectors (13 %): Chapter 5',
    );
  });
});

describe('describeOutdated', () => {
  const collection = {
    name: 'zoo',
    sources: [],
    domain: undefined,
    workspace: undefined,
    region: undefined,
    createdAt: 0,
    refreshedAt: undefined,
    documents: 9,
    passages: 9,
    bytes: 9,
    vectors: 0,
    outdated: 0,
  };

  it('names the collections that need a refresh, and nothing without any', () => {
    assert.equal(describeOutdated([collection]), undefined);
    assert.match(
      describeOutdated([collection, { ...collection, name: 'sea', outdated: 3 }]) ?? '',
      /\(sea: 3 documents\)/,
    );
  });
});
