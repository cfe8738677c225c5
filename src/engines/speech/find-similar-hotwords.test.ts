import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SIMILAR_HOTWORDS_MAX } from './hotword-bias-constants.ts';
import { findSimilarHotwords } from './find-similar-hotwords.ts';

const findSimilar = (text: string, hotwords: readonly (readonly [text: string, weight: number])[]): readonly string[] =>
  findSimilarHotwords(
    text,
    hotwords.map(([hotword, weight]) => ({ text: hotword, weight })),
  ).map((hotword) => hotword.text);

describe('findSimilarHotwords', () => {
  it('finds hotwords that sound like a part of the text, closest first', () => {
    const list = [
      ['Grafana', 2],
      ['Thyssenkrupp', 2],
      ['Nakamura', 2],
    ] as const;
    assert.deepEqual(findSimilar('Nakamora has the grab hannah.', list), ['Nakamura', 'Grafana']);
    assert.deepEqual(findSimilar('It will rain.', list), []);
  });

  it('finds hotwords across words, inside words, and despite spelling and accents', () => {
    assert.deepEqual(findSimilar('We open the click how is.', [['ClickHouse', 1]]), ['ClickHouse']);
    assert.deepEqual(findSimilar('Two Philipps came.', [['Filip', 1]]), ['Filip']);
    assert.deepEqual(findSimilar('We met Zoe there.', [['Zoë', 1]]), ['Zoë']);
  });

  it('ignores hotwords that would start inside a word', () => {
    assert.deepEqual(findSimilar('They were unistrokes.', [['Istro', 5]]), []);
  });

  it('allows a larger distance for heavier hotwords', () => {
    const nearAt = (weight: number) => findSimilar('The tablets with re-mo-not-so-man.', [['Rivaroxaban', weight]]);
    assert.deepEqual(nearAt(3), []);
    assert.deepEqual(nearAt(4), ['Rivaroxaban']);
  });

  it('returns all hotwords for scripts that do not show sounds', () => {
    for (const text of ['今天天气很好', 'OK 今天天气很好'])
      assert.deepEqual(findSimilar(text, [['Grafana', 1]]), ['Grafana']);
    assert.deepEqual(findSimilar('It rains.', [['中关村', 1]]), ['中关村']);
  });

  it('limits the number of hotwords', () => {
    const list = Array.from({ length: 50 }, (_, at) => [`Siobhan ${'a'.repeat(at % 3)}`, 5] as const);
    assert.equal(findSimilar('Siobhan is here.', list).length, SIMILAR_HOTWORDS_MAX);
  });
});
