import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createJsonEndDetector } from './json-end-detector.ts';

/** Returns the number of characters of `text` up to the detected end; −1: no end. */
function findEnd(text: string): number {
  const end = createJsonEndDetector();
  for (const [at, unit] of text.split('').entries()) {
    end.push(unit);
    if (end.isReached()) return at + 1;
  }
  return -1;
}

test('detects the last bracket of an object or array, whatever its strings contain', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue())),
      fc.nat(4),
      (value, spaces) => {
        const text = JSON.stringify(value, undefined, spaces);
        assert.equal(findEnd(` ${text}\n`), text.length + 1);
        const whole = createJsonEndDetector();
        whole.push(text);
        assert.ok(whole.isReached());
      },
    ),
  );
});

test('detects no end in other or incomplete values', () => {
  for (const text of ['', '1', 'null', '"{}"', '["a"', '{"a": "}', '{"a": {}', '}'])
    assert.equal(findEnd(text), -1, text);
});
