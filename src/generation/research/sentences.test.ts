import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { joined, sentencesOf, withMark } from './sentences.ts';

describe('the mark of a sentence', () => {
  it('stands before what ends the sentence', () => {
    assert.equal(withMark('Fires were lit.', 2), 'Fires were lit [[2]].');
    assert.equal(withMark('灯塔很高。', 2), '灯塔很高[[2]]。');
  });

  it('stands behind what is quoted to its end', () => {
    const marked = withMark('It is called the "encapsulation context."', 4);
    assert.equal(marked, 'It is called the "encapsulation context" [[4]].');
    assert.equal(withMark('(Fires were lit.)', 2), '(Fires were lit) [[2]].');
    const chinese = withMark('人们称之为“灯塔。”', 1);
    assert.equal(chinese, '人们称之为“灯塔”[[1]]。');
    for (const [first, second] of [
      [marked, 'It governs plugins [[4]].'],
      [chinese, '灯塔很高[[1]]。'],
    ] as const)
      assert.deepEqual(sentencesOf(joined([first, second])), [first, second]);
  });
});
