import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_ANSWER_SENTENCE, statesNoAnswer } from './unanswered.ts';

describe('statesNoAnswer', () => {
  for (const answer of [
    NO_ANSWER_SENTENCE,
    ` ${NO_ANSWER_SENTENCE} They are about lighthouses.`,
    'The search results don’t mention the price of a ticket.',
    'Unfortunately, the provided documents do not contain any information about volcanoes.',
    'I am sorry, but there is no information about volcanoes in the search results.',
    'The information provided does not specify the year.',
    '搜索结果没有提到票价。',
  ])
    it(`accepts ${JSON.stringify(answer)}`, () => assert.equal(statesNoAnswer(answer), true));

  for (const answer of [
    '',
    'The lighthouse has 203 steps.',
    'The lighthouse has 203 steps. The search results do not say who built it.',
    'The results of the vote are known. It does not matter what they say.',
    'A document without a date does not match.',
    '灯塔有203级台阶。',
  ])
    it(`rejects ${JSON.stringify(answer)}`, () => assert.equal(statesNoAnswer(answer), false));

  it('takes linear time for any text', () => {
    const before = process.cpuUsage();
    for (const hostile of ['the results ', 'no information ', ' '.repeat(9), '资料'])
      statesNoAnswer(hostile.repeat(100_000));
    assert.ok(process.cpuUsage(before).user < 1_000_000);
  });
});
