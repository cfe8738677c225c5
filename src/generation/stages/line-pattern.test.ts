import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { beginningOf, FENCE, lookFor } from './line-pattern.ts';
import { seeText } from './seen-text.ts';

const whole = (text: string) => seeText({ text, from: 0, before: '', isLast: true });

/** Where the beginning of `suffix` is found in a whole text; −1 where it is not. */
function findIn(text: string, suffix: string): number {
  const pattern = beginningOf(suffix);
  if (!pattern) return -1;
  const seen = whole(text);
  for (let at = 0; at < text.length; at++) if (lookFor(pattern, seen, at) === 'found') return at;
  return -1;
}

describe('the beginning of what comes after a gap', () => {
  test('is found where it stands again, the end of the line before it included', () => {
    assert.equal(findIn('return a\n\nprint(add(1, 2))\nmore', '\n\nprint(add(1, 2))\n'), 8);
    assert.equal(findIn('a + b)\n    return x_and_y\n\nmore', ')\n    return x_and_y\n'), 5);
  });

  test('is found with more or fewer line ends, and blanks at the end of lines', () => {
    for (const text of ['return a\nprint(add(1, 2))\n', 'return a  \n\n\n\nprint(add(1, 2))  \nx'])
      assert.equal(findIn(text, '\n\nprint(add(1, 2))'), 8, text);
  });

  test('is not found with another indentation, on another line, or where the line goes on', () => {
    const suffix = '\n    return all_of_it\n';
    assert.equal(findIn('if x:\n        return all_of_it\n    y', suffix), -1);
    assert.equal(findIn('x = 1; return all_of_it\n', suffix), -1);
    assert.equal(findIn('x\n    return all_of_it_and_more', suffix), -1);
  });

  test('takes as many lines as say enough', () => {
    const suffix = '\n    return n\n\ndef next(n):\n    pass\n';
    assert.equal(findIn('x\n    return n\n\ndef other():\n', suffix), -1);
    assert.equal(findIn('x\n    return n\n\ndef next(n):\n', suffix), 1);
  });

  test('is one line where the text ends with it, if that is no mere bracket', () => {
    assert.equal(findIn('x\n    return n\n', '\n    return n\n\ndef next(n):\n'), 1);
    assert.equal(findIn('f(x)\n}\n', '\n}\n\nfunction next() {\n'), -1);
  });

  test('is found at the beginning of a text, which the line before it does not belong to', () => {
    assert.equal(findIn('    return all_of_it\n', '\n    return all_of_it'), 0);
    assert.equal(findIn('print(add(1, 2))', '\n\nprint(add(1, 2))'), 0);
  });

  test('is not looked for where it says nothing', () => {
    for (const suffix of ['', '\n', ')', '\n}\n', ');\n}\n']) assert.equal(beginningOf(suffix), undefined, suffix);
  });

  test('is not found inside a word', () => {
    assert.equal(findIn('my_calculate_total()', 'calculate_total()'), -1);
    assert.equal(findIn('my.calculate_total()', 'calculate_total()'), 3);
  });

  test('is compared up to a length that a line may well exceed', () => {
    const line = 'x'.repeat(5_000);
    assert.equal(findIn(`a\n${line}`, `\n${line}`), 1);
    assert.equal(findIn(`a\n${line.slice(0, 150)}`, `\n${line}`), -1);
  });
});

test('a fence is one at the beginning of a line only', () => {
  const at = (text: string, position: number) => lookFor(FENCE, whole(text), position);
  assert.equal(at('x\n```', 1), 'found');
  assert.equal(at('```python', 0), 'found');
  assert.equal(at('x = `a` + ```', 0), 'no');
  assert.equal(at('x ```', 1), 'no');
});
