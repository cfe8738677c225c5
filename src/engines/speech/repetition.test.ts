import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { computeCompressionRatio, isHotwordRecital, countRepeatedTail } from './repetition.ts';

const repeat = (count: number, ...tokens: readonly number[]): number[] =>
  Array.from({ length: count }, () => tokens).flat();

describe('endless repetition', () => {
  it('is detected for any length of the repeated sequence', () => {
    assert.equal(countRepeatedTail([1, 2, ...repeat(13, 7)]), 12);
    assert.equal(countRepeatedTail([1, 2, ...repeat(7, 7, 8)]), 12);
    assert.equal(countRepeatedTail([1, 2, ...repeat(4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)]), 30);
  });

  it('does not include a few repetitions, or repetitions that ended', () => {
    assert.equal(countRepeatedTail([]), 0);
    assert.equal(countRepeatedTail(repeat(6, 7)), 0);
    assert.equal(countRepeatedTail(repeat(3, 1, 2, 3, 4, 5, 6, 7)), 0);
    assert.equal(countRepeatedTail([...repeat(20, 7), 1]), 0);
  });

  it('has a high compression ratio', () => {
    assert.equal(computeCompressionRatio(''), 0);
    assert.ok(computeCompressionRatio('The quick brown fox jumps over the lazy dog.') < 1.2);
    assert.ok(computeCompressionRatio('and then we go '.repeat(20)) > 2.4);
  });
});

describe('isHotwordRecital', () => {
  const words = ['Siobhan', 'Nakamura', 'Thyssen', 'Thyssenkrupp', 'Grafana'].map((text) => ({ text, weight: 3 }));

  it('detects three neighbors of the list, or one hotword three times', () => {
    assert.ok(isHotwordRecital('So Siobhan, Nakamura, Thyssen.', words));
    assert.ok(isHotwordRecital('GRAFANA grafana, Grafana!', words));
  });

  it('accepts hotwords in another order or with words between them', () => {
    for (const text of [
      'Grafana, Nakamura, Siobhan.',
      'Siobhan and Nakamura and Thyssen.',
      'Siobhan, Nakamura.',
      'Thyssen Thyssenkrupp Siobhan',
      '',
    ])
      assert.ok(!isHotwordRecital(text, words), text);
  });

  it('detects a text of repeated hotwords only', () => {
    assert.ok(isHotwordRecital('Siobhan, Grafana. Siobhan, Grafana.', words));
    assert.ok(!isHotwordRecital('Siobhan, Grafana. So Siobhan, Grafana.', words));
  });

  it('counts only the longest of overlapping hotwords', () => {
    assert.ok(isHotwordRecital('Thyssenkrupp, Grafana, Grafana', words));
  });
});
