import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NEAR_HOTWORDS_MAX } from './bias-scale.ts';
import { nearHotwords } from './near-hotwords.ts';

const near = (text: string, hotwords: readonly (readonly [text: string, weight: number])[]): readonly string[] =>
  nearHotwords(
    text,
    hotwords.map(([hotword, weight]) => ({ text: hotword, weight })),
  ).map((hotword) => hotword.text);

describe('the hotwords near a reading', () => {
  it('sound like something in it, nearest first', () => {
    const list = [
      ['Grafana', 2],
      ['Thyssenkrupp', 2],
      ['Nakamura', 2],
    ] as const;
    assert.deepEqual(near('Nakamora has the grab hannah.', list), ['Nakamura', 'Grafana']);
    assert.deepEqual(near('It will rain.', list), []);
  });

  it('are found in several words, in part of one, and behind other spellings and accents', () => {
    assert.deepEqual(near('We open the click how is.', [['ClickHouse', 1]]), ['ClickHouse']);
    assert.deepEqual(near('Two Philipps came.', [['Filip', 1]]), ['Filip']);
    assert.deepEqual(near('We met Zoe there.', [['Zoë', 1]]), ['Zoë']);
  });

  it('do not begin inside a word', () => {
    assert.deepEqual(near('They were unistrokes.', [['Istro', 5]]), []);
  });

  it('may be farther away where they weigh more', () => {
    const nearAt = (weight: number) => near('The tablets with re-mo-not-so-man.', [['Rivaroxaban', weight]]);
    assert.deepEqual(nearAt(3), []);
    assert.deepEqual(nearAt(4), ['Rivaroxaban']);
  });

  it('are all of them where the script shows no sounds', () => {
    for (const text of ['今天天气很好', 'OK 今天天气很好']) assert.deepEqual(near(text, [['Grafana', 1]]), ['Grafana']);
    assert.deepEqual(near('It rains.', [['中关村', 1]]), ['中关村']);
  });

  it('are so many and no more', () => {
    const list = Array.from({ length: 50 }, (_, at) => [`Siobhan ${'a'.repeat(at % 3)}`, 5] as const);
    assert.equal(near('Siobhan is here.', list).length, NEAR_HOTWORDS_MAX);
  });
});
