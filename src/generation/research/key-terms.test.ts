import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keyTerms, termPairs } from './key-terms.ts';

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
