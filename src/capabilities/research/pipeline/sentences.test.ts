import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { joinSentences, splitSentences, addCitationMark } from './sentences.ts';

describe('addCitationMark', () => {
  it('inserts the mark before the final punctuation', () => {
    assert.equal(addCitationMark('Fires were lit.', 2), 'Fires were lit [[2]].');
    assert.equal(addCitationMark('灯塔很高。', 2), '灯塔很高[[2]]。');
  });

  it('inserts the mark after a closing quote', () => {
    const marked = addCitationMark('It is called the "encapsulation context."', 4);
    assert.equal(marked, 'It is called the "encapsulation context" [[4]].');
    assert.equal(addCitationMark('(Fires were lit.)', 2), '(Fires were lit) [[2]].');
    const chinese = addCitationMark('人们称之为“灯塔。”', 1);
    assert.equal(chinese, '人们称之为“灯塔”[[1]]。');
    for (const [first, second] of [
      [marked, 'It governs plugins [[4]].'],
      [chinese, '灯塔很高[[1]]。'],
    ] as const)
      assert.deepEqual(splitSentences(joinSentences([first, second])), [first, second]);
  });
});
