import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createJsonEnd } from './json-end.ts';

/** Characters of `text` after which its end is reached; −1: never. */
function endOf(text: string): number {
  const end = createJsonEnd();
  for (const [at, unit] of text.split('').entries()) {
    end.push(unit);
    if (end.isReached()) return at + 1;
  }
  return -1;
}

test('an object or list ends with its last bracket, whatever is in its strings, and not before', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue())),
      fc.nat(4),
      (value, spaces) => {
        const text = JSON.stringify(value, undefined, spaces);
        assert.equal(endOf(` ${text}\n`), text.length + 1);
        const whole = createJsonEnd();
        whole.push(text);
        assert.ok(whole.isReached());
      },
    ),
  );
});

test('what is neither, or not whole, has no end', () => {
  for (const text of ['', '1', 'null', '"{}"', '["a"', '{"a": "}', '{"a": {}', '}'])
    assert.equal(endOf(text), -1, text);
});
