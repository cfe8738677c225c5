import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import vm from 'node:vm';
import { defineTextCoding } from './text-coding.ts';

const context = vm.createContext(vm.constants.DONT_CONTEXTIFY);
vm.runInContext(`(${defineTextCoding.toString()})()`, context);
const { TextEncoder: OwnEncoder, TextDecoder: OwnDecoder } = context as typeof globalThis;

const TEXTS = ['', 'plain', 'äöü ß', '漢字かな', '😀👩‍👩‍👧', `\ud800 alone \udc00`, 'x'.repeat(20_000), '😀'.repeat(9_000)];

describe('text coding of the realm', () => {
  test('encodes as the runtime does', () => {
    for (const text of TEXTS) {
      const bytes = new OwnEncoder().encode(text);
      assert.deepEqual([...bytes], [...new TextEncoder().encode(text)]);
      const [own, theirs] = [new Uint8Array(7), new Uint8Array(7)];
      assert.deepEqual(
        { ...new OwnEncoder().encodeInto(text, own) },
        { ...new TextEncoder().encodeInto(text, theirs) },
      );
      assert.deepEqual(own, theirs);
    }
  });

  test('decodes what is text as the runtime does', () => {
    for (const text of TEXTS) {
      const bytes = new TextEncoder().encode(text);
      assert.equal(new OwnDecoder().decode(bytes), new TextDecoder().decode(bytes));
      if (!text.isWellFormed()) continue;
      const wide = Buffer.from(text, 'utf16le');
      assert.equal(new OwnDecoder('utf-16le').decode(wide), new TextDecoder('utf-16le').decode(wide));
    }
    const all = Uint8Array.from({ length: 128 }, (_, at) => at);
    assert.equal(new OwnDecoder('latin1').decode(all), Buffer.from(all).toString('latin1'));
    assert.equal(new OwnDecoder().decode(all.buffer), Buffer.from(all).toString('latin1'));
  });

  test('what is no text becomes replacement characters, and never fails', () => {
    for (let round = 0; round < 200; round++) {
      const text = new OwnDecoder().decode(randomBytes(64));
      assert.equal(text.isWellFormed(), true);
    }
  });

  test('an encoding that it does not know is refused', () => {
    assert.throws(() => new OwnDecoder('shift_jis'), { name: 'RangeError' });
  });
});
