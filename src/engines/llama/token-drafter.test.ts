import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTokenDrafter } from './token-drafter.ts';

const toTokens = (text: string): number[] => Array.from(text, (letter) => letter.charCodeAt(0));
const toText = (tokens: readonly number[]): string => String.fromCharCode(...tokens);

/** Drafts after a text whose last letter is not evaluated yet. */
const draft = (text: string, { tokensMax = 99, drafter = createTokenDrafter() } = {}): string => {
  const tokens = toTokens(text);
  return toText(drafter.draft(tokens.slice(0, -1), tokens.at(-1) ?? 0, tokensMax));
};

describe('createTokenDrafter', () => {
  it('drafts what followed the longest match, the latest of equally long ones', () => {
    assert.equal(draft('abcdefgh abc'), 'defg');
    assert.equal(draft('abcXXXX abcYYYY abc'), 'YYYY');
    assert.equal(draft(' the abcXXXX abcYYYY the abc'), 'XXXX');
  });

  it('drafts nothing after a short match, the end of the text, or an empty one', () => {
    for (const text of ['abcdefgh bc', 'abcdefgh', 'aaa', 'a']) assert.equal(draft(text), '', text);
    assert.equal(draft('aaaaaa'), 'a');
    assert.deepEqual(createTokenDrafter().draft([], 1, 8), []);
  });

  it('drafts at most the given number of tokens', () => {
    assert.equal(draft('abcdefgh abc', { tokensMax: 2 }), 'de');
  });

  it('drafts longer as long as predictions are right, and shorter when they turn wrong', () => {
    const drafter = createTokenDrafter();
    const text = 'abcdefghijklmnopqrstuvwxyz abc';
    drafter.observe(4, 4);
    assert.equal(draft(text, { drafter }), 'defghijk');
    drafter.observe(8, 8);
    assert.equal(draft(text, { drafter }).length, 16);
    drafter.observe(16, 3);
    assert.equal(draft(text, { drafter }), 'def');
    drafter.observe(3, 1);
    assert.equal(draft(text, { drafter }), 'de');
  });

  it('requires longer matches after a wrong prediction, until one is right again', () => {
    const drafter = createTokenDrafter();
    drafter.observe(4, 0);
    assert.equal(draft('abcdefgh abc', { drafter }), '');
    assert.equal(draft('abcdefgh abcdef', { drafter }), 'gh');
    drafter.observe(2, 1);
    assert.equal(draft('abcdefgh abc', { drafter }), 'de');
  });
});
