import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeText } from './decode-text.ts';
import { readPlainText } from './formats/plain.ts';

const decodeAll = (bytes: Uint8Array, options?: Parameters<typeof decodeText>[1]): string =>
  [...decodeText(bytes, options)].join('');
const encodeUtf16Be = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le').swap16();

/** 中文，再来一次。 in GB18030, with a four-byte character (𠀀) at its end. */
const GB18030_BYTES = Buffer.from('d6d0cec4a3acd4d9c0b4d2bbb4cea1a395328236', 'hex');

test('decodes by the byte order mark, else as UTF-8, else as GB18030, else as windows-1252', () => {
  assert.equal(decodeAll(Buffer.from('\ufeffgrün 中')), 'grün 中');
  assert.equal(decodeAll(Buffer.from('grün 中')), 'grün 中');
  assert.equal(decodeAll(Buffer.from('\ufeffgrün 中😀', 'utf16le')), 'grün 中😀');
  assert.equal(decodeAll(encodeUtf16Be('grün 中😀')), 'grün 中😀');
  assert.equal(decodeAll(GB18030_BYTES), '中文，再来一次。𠀀');
  assert.equal(decodeAll(Buffer.from('caf\xe9 \x93x\x94', 'latin1')), 'café “x”');
});

test('uses a declared encoding if it is known', () => {
  assert.equal(decodeAll(Buffer.from('\xe9', 'latin1'), { declaredEncoding: 'iso-8859-2' }), 'é');
  assert.equal(decodeAll(Buffer.from('é'), { declaredEncoding: 'nonsense' }), 'é');
});

test('refuses bytes that are not text', () => {
  assert.throws(() => decodeAll(Buffer.from('a\0b')), { name: 'UnreadableDocumentError' });
});

test('returns the same text for every slice size', () => {
  const texts = fc.string({ unit: 'grapheme', maxLength: 60 }).map((text) => text.replaceAll('\0', ''));
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 9 }), (text, sliceBytes) => {
      const whole = text.toWellFormed();
      const plain = whole.startsWith('\ufeff') ? whole.slice(1) : whole;
      assert.equal(
        decodeAll(Buffer.from(plain), { sliceBytes, declaredEncoding: 'utf-8' }),
        plain.replace(/^\ufeff/, ''),
      );
      assert.equal(decodeAll(Buffer.from(`\ufeff${plain}`, 'utf16le'), { sliceBytes }), plain);
      assert.equal(decodeAll(encodeUtf16Be(plain), { sliceBytes }), plain);
    }),
  );
  for (let sliceBytes = 1; sliceBytes < 9; sliceBytes++)
    assert.equal(decodeAll(GB18030_BYTES, { sliceBytes }), '中文，再来一次。𠀀');
});

test('normalizes line ends, also when one is split between two pieces', () => {
  const pieces: string[] = [];
  const text = `${'x'.repeat(64 * 1024 - 1)}\r\ny\rz\r`;
  readPlainText(Buffer.from(text), { push: (piece) => void pieces.push(piece) });
  assert.equal(pieces.join('').slice(-6), 'x\ny\nz\n');
});
