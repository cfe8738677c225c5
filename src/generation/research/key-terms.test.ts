import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keyTerms, queryAbout, termPairs } from './key-terms.ts';

describe('the key terms of a text', () => {
  it('are what it names, then what carries meaning, in its order', () => {
    assert.equal(
      keyTerms('How do the lighthouses of Scotland save energy with modern lamps?'),
      'lighthouses Scotland save',
    );
    assert.equal(keyTerms('credentials and retries in the AWS SDK'), 'credentials AWS SDK');
    assert.equal(keyTerms('苏格兰灯塔的历史'), '苏格兰灯塔');
  });

  it('come in pairs with the first of them', () => {
    assert.deepEqual(termPairs('credentials and retries in the AWS SDK'), [
      'AWS retries',
      'AWS credentials',
      'AWS SDK',
    ]);
    assert.deepEqual(termPairs('of the'), []);
  });
});

describe('a query that a model worded', () => {
  const topic = 'How do humpback whales sing, and why do their songs change?';

  it('has each word once', () => {
    assert.equal(queryAbout({ topic }, 'humpback whale song change Song change'), 'humpback whale song change');
  });

  it('gets what the topic is about, where it names little of it', () => {
    assert.equal(queryAbout({ topic }, 'climate change'), 'humpback whales sing climate change');
    assert.equal(queryAbout({ topic: '量子计算的发展现状' }, '伦理 法律'), '量子计算 伦理 法律');
  });

  it('stays as it is where the topic is in it', () => {
    assert.equal(queryAbout({ topic: 'Compare PostgreSQL and SQLite' }, 'postgresql costs'), 'postgresql costs');
    assert.equal(queryAbout({ topic: '量子计算的发展现状' }, '量子计算 伦理'), '量子计算 伦理');
    assert.equal(queryAbout({ topic: 'of the' }, 'anything'), 'anything');
  });
});
