import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSaidSentences } from './likeness.ts';

describe('what was said', () => {
  const said = createSaidSentences(['The bridge of Porto was opened in 1886 and is 385 metres long.']);

  it('is found again in other signs and in nearly the same words', () => {
    assert.ok(said.hasLike('the bridge of Porto was opened in 1886, and is 385 metres long'));
    assert.ok(said.hasLike('In 1886 the bridge of Porto was opened, which is 385 metres long.'));
    assert.ok(said.hasLike('The bridge of Porto was opened in 1886.'));
  });

  it('is something else with another name or number', () => {
    assert.ok(!said.hasLike('The bridge of Braga was opened in 1886 and is 385 metres long.'));
    assert.ok(!said.hasLike('The bridge of Porto was opened in 1886 and is 172 metres long.'));
    assert.ok(!said.hasLike('Trains cross the river on an upper deck.'));
  });

  it('is found in writing without blanks', () => {
    const chinese = createSaidSentences(['这座桥于1886年建成，全长385米。']);
    assert.ok(chinese.hasLike('这座桥在1886年建成，全长385米。'));
    assert.ok(!chinese.hasLike('这座桥于1886年建成，全长172米。'));
  });
});
