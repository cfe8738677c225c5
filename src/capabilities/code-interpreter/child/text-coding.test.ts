import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import vm from 'node:vm';
import { defineTextCoding } from './text-coding.ts';

const context = vm.createContext(vm.constants.DONT_CONTEXTIFY);
vm.runInContext(`(${defineTextCoding.toString()})()`, context);
const { TextEncoder: RealmEncoder, TextDecoder: RealmDecoder } = context as typeof globalThis;

const TEXTS = ['', 'plain', 'äöü ß', '漢字かな', '😀👩‍👩‍👧', `\ud800 alone \udc00`, 'x'.repeat(20_000), '😀'.repeat(9_000)];

describe('defineTextCoding', () => {
  test('encodes as the TextEncoder of the runtime does', () => {
    for (const text of TEXTS) {
      const bytes = new RealmEncoder().encode(text);
      assert.deepEqual([...bytes], [...new TextEncoder().encode(text)]);
      const [actual, expected] = [new Uint8Array(7), new Uint8Array(7)];
      assert.deepEqual(
        { ...new RealmEncoder().encodeInto(text, actual) },
        { ...new TextEncoder().encodeInto(text, expected) },
      );
      assert.deepEqual(actual, expected);
    }
  });

  test('decodes valid text as the TextDecoder of the runtime does', () => {
    for (const text of TEXTS) {
      const bytes = new TextEncoder().encode(text);
      assert.equal(new RealmDecoder().decode(bytes), new TextDecoder().decode(bytes));
      if (!text.isWellFormed()) continue;
      const wide = Buffer.from(text, 'utf16le');
      assert.equal(new RealmDecoder('utf-16le').decode(wide), new TextDecoder('utf-16le').decode(wide));
    }
    const all = Uint8Array.from({ length: 128 }, (_, at) => at);
    assert.equal(new RealmDecoder('latin1').decode(all), Buffer.from(all).toString('latin1'));
    assert.equal(new RealmDecoder().decode(all.buffer), Buffer.from(all).toString('latin1'));
  });

  test('decodes invalid bytes to replacement characters and never fails', () => {
    for (let round = 0; round < 200; round++) {
      const text = new RealmDecoder().decode(randomBytes(64));
      assert.equal(text.isWellFormed(), true);
    }
  });

  test('refuses an unknown encoding', () => {
    assert.throws(() => new RealmDecoder('shift_jis'), { name: 'RangeError' });
  });
});
