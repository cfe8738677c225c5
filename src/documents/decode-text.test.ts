import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeText } from './decode-text.ts';
import { readPlain } from './formats/plain.ts';

const decoded = (bytes: Uint8Array, options?: Parameters<typeof decodeText>[1]): string =>
  [...decodeText(bytes, options)].join('');
const utf16be = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le').swap16();

/** 中文，再来一次。 in GB18030, with a character of four bytes (𠀀) at its end. */
const GB = Buffer.from('d6d0cec4a3acd4d9c0b4d2bbb4cea1a395328236', 'hex');

test('a text is read by its mark, else as UTF-8, else as GB18030, else as Windows does', () => {
  assert.equal(decoded(Buffer.from('\ufeffgrün 中')), 'grün 中');
  assert.equal(decoded(Buffer.from('grün 中')), 'grün 中');
  assert.equal(decoded(Buffer.from('\ufeffgrün 中😀', 'utf16le')), 'grün 中😀');
  assert.equal(decoded(utf16be('grün 中😀')), 'grün 中😀');
  assert.equal(decoded(GB), '中文，再来一次。𠀀');
  assert.equal(decoded(Buffer.from('caf\xe9 \x93x\x94', 'latin1')), 'café “x”');
});

test('what a file says of itself is believed where it is an encoding', () => {
  assert.equal(decoded(Buffer.from('\xe9', 'latin1'), { declared: 'iso-8859-2' }), 'é');
  assert.equal(decoded(Buffer.from('é'), { declared: 'nonsense' }), 'é');
});

test('what is no text is refused', () => {
  assert.throws(() => decoded(Buffer.from('a\0b')), { name: 'Unreadable' });
});

test('however the bytes are cut, the text is the same', () => {
  const texts = fc.string({ unit: 'grapheme', maxLength: 60 }).map((text) => text.replaceAll('\0', ''));
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 9 }), (text, sliceBytes) => {
      const whole = text.toWellFormed();
      const plain = whole.startsWith('\ufeff') ? whole.slice(1) : whole;
      assert.equal(decoded(Buffer.from(plain), { sliceBytes, declared: 'utf-8' }), plain.replace(/^\ufeff/, ''));
      assert.equal(decoded(Buffer.from(`\ufeff${plain}`, 'utf16le'), { sliceBytes }), plain);
      assert.equal(decoded(utf16be(plain), { sliceBytes }), plain);
    }),
  );
  for (let sliceBytes = 1; sliceBytes < 9; sliceBytes++)
    assert.equal(decoded(GB, { sliceBytes }), '中文，再来一次。𠀀');
});

test('every end of a line becomes the same one, also where a piece ends in its middle', () => {
  const pieces: string[] = [];
  const text = `${'x'.repeat(64 * 1024 - 1)}\r\ny\rz\r`;
  readPlain(Buffer.from(text), { push: (piece) => void pieces.push(piece) });
  assert.equal(pieces.join('').slice(-6), 'x\ny\nz\n');
});
