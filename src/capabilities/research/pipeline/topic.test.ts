import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTextMessage } from '../../../generation/server-tools/decision-messages.ts';
import { parseTopic, type Topic } from './topic.ts';

const parseTopicWithAnswer = (topic: string, answer: string): Topic =>
  parseTopic([
    createTextMessage('user', topic),
    createTextMessage('assistant', 'Which?'),
    createTextMessage('user', answer),
  ]);

describe('parseTopic', () => {
  it('takes the answer as focus', () => {
    for (const answer of ['Costs.', 'None of the old ones', 'All of Asia', 'Nothing about politics', '成本和充电'])
      assert.deepEqual(
        [parseTopicWithAnswer('Buses', answer).focus, parseTopicWithAnswer('Buses', answer).answer],
        [answer, answer],
      );
  });

  it('has no focus when the answer leaves all open', () => {
    for (const answer of [
      'No preference.',
      'no particular preference',
      'All of it.',
      'I don’t know',
      'up to you!',
      '无特别偏好。',
      '没有特别的要求。',
      '都可以',
    ])
      assert.deepEqual(
        [parseTopicWithAnswer('Buses', answer).focus, parseTopicWithAnswer('Buses', answer).answer],
        ['', answer],
      );
  });

  it('detects the language of the request', () => {
    assert.equal(parseTopicWithAnswer('灯塔', 'No preference.').language, 'zh');
    assert.equal(parseTopicWithAnswer('灯塔', 'In English please, about lenses and their makers').language, 'en');
    assert.equal(parseTopicWithAnswer('Lighthouses', '没有特别的要求。').language, 'en');
    assert.equal(parseTopicWithAnswer('ライトハウスの歴史', 'どれでも').language, 'en');
  });
});
