import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFillTokens } from './read-fill-tokens.ts';

const TEXTS = ['a', '<p>', '<s>', '<m>', '<pad>', '<rep>'];
const getText = (token: number): string => TEXTS[token] ?? '';

test('reads the tokens of new and older files', () => {
  const expected = { prefix: '<p>', suffix: '<s>', middle: '<m>' };
  const ids = { fim_pre_token_id: 1, fim_suf_token_id: 2, fim_mid_token_id: 3 };
  assert.deepEqual(readFillTokens({ ...ids, fim_pad_token_id: 4, fim_rep_token_id: 5 }, getText), {
    ids: [1, 2, 3, 4, 5],
    fillTokens: { ...expected, stopTokens: ['<p>', '<s>', '<m>', '<pad>', '<rep>'] },
  });
  const older = { prefix_token_id: 1, suffix_token_id: 2, middle_token_id: 3 };
  assert.deepEqual(readFillTokens(older, getText)?.fillTokens, { ...expected, stopTokens: ['<p>', '<s>', '<m>'] });
});

test('returns undefined if a token is missing', () => {
  assert.equal(readFillTokens({}, getText), undefined);
  assert.equal(readFillTokens({ fim_pre_token_id: 1, fim_suf_token_id: 2 }, getText), undefined);
});
