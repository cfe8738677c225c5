import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createBeginningPattern, FENCE_PATTERN, matchLinePattern } from './line-pattern.ts';
import { createTextWindow } from './text-window.ts';

const createWholeWindow = (text: string) =>
  createTextWindow({ text, start: 0, previousCharacter: '', isComplete: true });

/** Returns the position at which the beginning of `suffix` matches in a complete text; −1 when it does not. */
function findIn(text: string, suffix: string): number {
  const pattern = createBeginningPattern(suffix);
  if (!pattern) return -1;
  const window = createWholeWindow(text);
  for (let at = 0; at < text.length; at++) if (matchLinePattern(pattern, window, at) === 'found') return at;
  return -1;
}

describe('createBeginningPattern', () => {
  test('matches a repetition of the lines, including the line end before them', () => {
    assert.equal(findIn('return a\n\nprint(add(1, 2))\nmore', '\n\nprint(add(1, 2))\n'), 8);
    assert.equal(findIn('a + b)\n    return x_and_y\n\nmore', ')\n    return x_and_y\n'), 5);
  });

  test('matches with more or fewer line ends and with blanks at the end of lines', () => {
    for (const text of ['return a\nprint(add(1, 2))\n', 'return a  \n\n\n\nprint(add(1, 2))  \nx'])
      assert.equal(findIn(text, '\n\nprint(add(1, 2))'), 8, text);
  });

  test('does not match another indentation, another line or a longer line', () => {
    const suffix = '\n    return all_of_it\n';
    assert.equal(findIn('if x:\n        return all_of_it\n    y', suffix), -1);
    assert.equal(findIn('x = 1; return all_of_it\n', suffix), -1);
    assert.equal(findIn('x\n    return all_of_it_and_more', suffix), -1);
  });

  test('takes as many lines as exclude a match by chance', () => {
    const suffix = '\n    return n\n\ndef next(n):\n    pass\n';
    assert.equal(findIn('x\n    return n\n\ndef other():\n', suffix), -1);
    assert.equal(findIn('x\n    return n\n\ndef next(n):\n', suffix), 1);
  });

  test('matches a single line at the end of the text unless it is only a bracket', () => {
    assert.equal(findIn('x\n    return n\n', '\n    return n\n\ndef next(n):\n'), 1);
    assert.equal(findIn('f(x)\n}\n', '\n}\n\nfunction next() {\n'), -1);
  });

  test('matches at the beginning of a text, where the line end stands in the prompt', () => {
    assert.equal(findIn('    return all_of_it\n', '\n    return all_of_it'), 0);
    assert.equal(findIn('print(add(1, 2))', '\n\nprint(add(1, 2))'), 0);
  });

  test('is undefined for a text that is too short', () => {
    for (const suffix of ['', '\n', ')', '\n}\n', ');\n}\n'])
      assert.equal(createBeginningPattern(suffix), undefined, suffix);
  });

  test('does not match inside a word', () => {
    assert.equal(findIn('my_calculate_total()', 'calculate_total()'), -1);
    assert.equal(findIn('my.calculate_total()', 'calculate_total()'), 3);
  });

  test('compares a long line only up to a maximum length', () => {
    const line = 'x'.repeat(5_000);
    assert.equal(findIn(`a\n${line}`, `\n${line}`), 1);
    assert.equal(findIn(`a\n${line.slice(0, 150)}`, `\n${line}`), -1);
  });
});

test('FENCE_PATTERN matches only at the beginning of a line', () => {
  const at = (text: string, position: number) => matchLinePattern(FENCE_PATTERN, createWholeWindow(text), position);
  assert.equal(at('x\n```', 1), 'found');
  assert.equal(at('```python', 0), 'found');
  assert.equal(at('x = `a` + ```', 0), 'no');
  assert.equal(at('x ```', 1), 'no');
});
