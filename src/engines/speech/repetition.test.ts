import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compressionRatio, recitesHotwords, repeatedTail } from './repetition.ts';

const times = (count: number, ...tokens: readonly number[]): number[] =>
  Array.from({ length: count }, () => tokens).flat();

describe('repetition without end', () => {
  it('is what stands at the end again and again, however long a turn is', () => {
    assert.equal(repeatedTail([1, 2, ...times(13, 7)]), 12);
    assert.equal(repeatedTail([1, 2, ...times(7, 7, 8)]), 12);
    assert.equal(repeatedTail([1, 2, ...times(4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)]), 30);
  });

  it('is not what people say twice or thrice, nor what has ended', () => {
    assert.equal(repeatedTail([]), 0);
    assert.equal(repeatedTail(times(6, 7)), 0);
    assert.equal(repeatedTail(times(3, 1, 2, 3, 4, 5, 6, 7)), 0);
    assert.equal(repeatedTail([...times(20, 7), 1]), 0);
  });

  it('makes a text pack well', () => {
    assert.equal(compressionRatio(''), 0);
    assert.ok(compressionRatio('The quick brown fox jumps over the lazy dog.') < 1.2);
    assert.ok(compressionRatio('and then we go '.repeat(20)) > 2.4);
  });
});

describe('a list of hotwords that is read out', () => {
  const words = ['Siobhan', 'Nakamura', 'Thyssen', 'Thyssenkrupp', 'Grafana'].map((text) => ({ text, weight: 3 }));

  it('is three of its neighbours in a row, or one thrice, with signs between them', () => {
    assert.ok(recitesHotwords('So Siobhan, Nakamura, Thyssen.', words));
    assert.ok(recitesHotwords('GRAFANA grafana, Grafana!', words));
  });

  it('is not a sentence that says some of them, in another order or with words between', () => {
    for (const text of [
      'Grafana, Nakamura, Siobhan.',
      'Siobhan and Nakamura and Thyssen.',
      'Siobhan, Nakamura.',
      'Thyssen Thyssenkrupp Siobhan',
      '',
    ])
      assert.ok(!recitesHotwords(text, words), text);
  });

  it('is hotwords and nothing else, some of them again', () => {
    assert.ok(recitesHotwords('Siobhan, Grafana. Siobhan, Grafana.', words));
    assert.ok(!recitesHotwords('Siobhan, Grafana. So Siobhan, Grafana.', words));
  });

  it('counts the longest word where several begin', () => {
    assert.ok(recitesHotwords('Thyssenkrupp, Grafana, Grafana', words));
  });
});
