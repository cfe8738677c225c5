import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { says } from '../server-tools/decision-turns.ts';
import { topicOf, type Topic } from './topic.ts';

const topicAfter = (topic: string, answer: string): Topic =>
  topicOf([says('user', topic), says('assistant', 'Which?'), says('user', answer)]);

describe('what is to be looked into', () => {
  it('has what an answer asks for as its focus', () => {
    for (const answer of ['Costs.', 'None of the old ones', 'All of Asia', 'Nothing about politics', '成本和充电'])
      assert.deepEqual([topicAfter('Buses', answer).focus, topicAfter('Buses', answer).answer], [answer, answer]);
  });

  it('has no focus where the answer leaves all open', () => {
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
      assert.deepEqual([topicAfter('Buses', answer).focus, topicAfter('Buses', answer).answer], ['', answer]);
  });

  it('is in the language of what is asked for', () => {
    assert.equal(topicAfter('灯塔', 'No preference.').language, 'zh');
    assert.equal(topicAfter('灯塔', 'In English please, about lenses and their makers').language, 'en');
    assert.equal(topicAfter('Lighthouses', '没有特别的要求。').language, 'en');
    assert.equal(topicAfter('ライトハウスの歴史', 'どれでも').language, 'en');
  });
});
