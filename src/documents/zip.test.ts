import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeZip } from './__fixtures__/make-zip.ts';
import { openZip } from './zip.ts';

const LIMITS = { entriesMax: 100, fileBytesMax: 10_000, allBytesMax: 15_000 };
const open = (...[entries, options]: Parameters<typeof makeZip>) => openZip(makeZip(entries, options), LIMITS);
const refused = (what: string) => ({ name: 'Unreadable', message: new RegExp(what) });

describe('an archive', () => {
  test('gives each of its files, also behind a comment', () => {
    const bytes = makeZip([
      { name: 'a', content: 'one' },
      { name: 'ü/b', content: '' },
    ]);
    const zip = openZip(Buffer.concat([bytes, Buffer.from('a comment')]), LIMITS);
    assert.equal(Buffer.from(zip.read('a')).toString(), 'one');
    assert.equal(zip.read('ü/b').length, 0);
    assert.ok(zip.has('a') && !zip.has('c'));
    assert.throws(() => zip.read('c'), refused('c is missing'));
  });

  test('is unpacked no further than it may be, file by file and in all', () => {
    const zip = open([
      { name: 'large', content: 'x'.repeat(10_001) },
      { name: 'one', content: 'x'.repeat(9_000) },
      { name: 'two', content: 'x'.repeat(9_000) },
    ]);
    assert.throws(() => zip.read('large'), refused('larger unpacked'));
    assert.equal(zip.read('one').length, 9_000);
    assert.throws(() => zip.read('two'), refused('larger unpacked'));
  });

  for (const [lie, said, reason] of [
    ['is smaller', { bytes: 3 }, 'not whole'],
    ['is larger', { bytes: 4_000_000_000 }, 'not whole'],
    ['has other bytes', { crc: 1 }, 'not whole'],
    ['is locked', { flags: 1 }, 'password'],
    ['is packed otherwise', { method: 99 }, 'packed in a way'],
    ['is not packed', { method: 0 }, 'not whole'],
  ] as const) {
    test(`that says a file ${lie} is not believed`, () => {
      const zip = open([{ name: 'a', content: 'x'.repeat(5_000), said }]);
      assert.throws(() => zip.read('a'), refused(reason));
    });
  }

  test('with too many files, or fewer than it says, is refused before any is unpacked', () => {
    assert.throws(() => open([], { count: 101 }), refused('more than 100 files'));
    assert.throws(() => open([{ name: 'a', content: '' }], { count: 2 }), refused('directory is cut off'));
  });

  test('that is cut anywhere is refused or gives what it has, and nothing else happens', () => {
    const bytes = makeZip([{ name: 'a', content: 'some words that are packed' }]);
    for (let length = 0; length < bytes.length; length++) {
      assert.throws(() => openZip(bytes.subarray(0, length), LIMITS).read('a'), { name: 'Unreadable' });
    }
    for (let at = 0; at < bytes.length; at++) {
      const broken = Buffer.from(bytes);
      broken[at] = (broken[at] ?? 0) ^ 0xff;
      try {
        openZip(broken, LIMITS).read('a');
      } catch (error) {
        assert.equal(error instanceof Error && error.name, 'Unreadable', `byte ${at}: ${String(error)}`);
      }
    }
  });
});
