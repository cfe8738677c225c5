import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSentenceIndex } from './sentence-index.ts';

describe('SentenceIndex', () => {
  const index = createSentenceIndex(['The bridge of Porto was opened in 1886 and is 385 metres long.']);

  it('finds sentences with other punctuation or nearly the same words', () => {
    assert.ok(index.hasSimilar('the bridge of Porto was opened in 1886, and is 385 metres long'));
    assert.ok(index.hasSimilar('In 1886 the bridge of Porto was opened, which is 385 metres long.'));
    assert.ok(index.hasSimilar('The bridge of Porto was opened in 1886.'));
  });

  it('does not match sentences with another name or number', () => {
    assert.ok(!index.hasSimilar('The bridge of Braga was opened in 1886 and is 385 metres long.'));
    assert.ok(!index.hasSimilar('The bridge of Porto was opened in 1886 and is 172 metres long.'));
    assert.ok(!index.hasSimilar('Trains cross the river on an upper deck.'));
  });

  it('works in scripts without spaces', () => {
    const chinese = createSentenceIndex(['这座桥于1886年建成，全长385米。']);
    assert.ok(chinese.hasSimilar('这座桥在1886年建成，全长385米。'));
    assert.ok(!chinese.hasSimilar('这座桥于1886年建成，全长172米。'));
  });
});
