import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { extractKeyTerms, addTopicTerms, createTermPairs } from './key-terms.ts';

describe('key terms', () => {
  it('are names, then content words, in text order', () => {
    assert.equal(
      extractKeyTerms('How do the lighthouses of Scotland save energy with modern lamps?'),
      'lighthouses Scotland save',
    );
    assert.equal(extractKeyTerms('credentials and retries in the AWS SDK'), 'credentials AWS SDK');
    assert.equal(extractKeyTerms('苏格兰灯塔的历史'), '苏格兰灯塔');
  });

  it('are paired with the first one', () => {
    assert.deepEqual(createTermPairs('credentials and retries in the AWS SDK'), [
      'AWS retries',
      'AWS credentials',
      'AWS SDK',
    ]);
    assert.deepEqual(createTermPairs('of the'), []);
  });
});

describe('addTopicTerms', () => {
  const topic = 'How do humpback whales sing, and why do their songs change?';

  it('removes repeated words', () => {
    assert.equal(addTopicTerms({ topic }, 'humpback whale song change Song change'), 'humpback whale song change');
  });

  it('prepends key terms of the topic when the query contains few of them', () => {
    assert.equal(addTopicTerms({ topic }, 'climate change'), 'humpback whales sing climate change');
    assert.equal(addTopicTerms({ topic: '量子计算的发展现状' }, '伦理 法律'), '量子计算 伦理 法律');
  });

  it('keeps a query that contains the topic', () => {
    assert.equal(addTopicTerms({ topic: 'Compare PostgreSQL and SQLite' }, 'postgresql costs'), 'postgresql costs');
    assert.equal(addTopicTerms({ topic: '量子计算的发展现状' }, '量子计算 伦理'), '量子计算 伦理');
    assert.equal(addTopicTerms({ topic: 'of the' }, 'anything'), 'anything');
  });
});
