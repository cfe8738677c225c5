import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { unicodeCharacter } from '../../test/unicode-character.ts';
import { createUtf8StreamDecoder } from './utf8-stream-decoder.ts';

const cut = (bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] => {
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const size of sizes) {
    pieces.push(bytes.subarray(from, from + size));
    from += size;
  }
  return [...pieces, bytes.subarray(from)];
};

test('decodes the same text for any division of the bytes into chunks', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.array(fc.nat({ max: 4 })), (bytes, sizes) => {
      const splitter = createUtf8StreamDecoder();
      const text = cut(bytes, sizes).map((piece) => splitter.push(piece));
      assert.equal(text.join('') + splitter.end(), new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
    }),
  );
});

test('never returns a part of a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: unicodeCharacter }), fc.array(fc.nat({ max: 3 })), (text, sizes) => {
      const splitter = createUtf8StreamDecoder();
      const pieces = cut(new TextEncoder().encode(text), sizes).map((piece) => splitter.push(piece));
      for (const piece of pieces) assert.ok(piece.isWellFormed());
      assert.equal(pieces.join(''), text);
      assert.equal(splitter.end(), '');
    }),
  );
});
