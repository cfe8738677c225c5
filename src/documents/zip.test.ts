import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTestZip } from './__fixtures__/test-zip.ts';
import { openZip } from './zip.ts';

const LIMITS = { entriesMax: 100, fileBytesMax: 10_000, totalBytesMax: 15_000 };
const openTestZip = (...[entries, options]: Parameters<typeof createTestZip>) =>
  openZip(createTestZip(entries, options), LIMITS);
const expectedError = (what: string) => ({ name: 'UnreadableDocumentError', message: new RegExp(what) });

describe('openZip', () => {
  test('reads each file, also with an archive comment', () => {
    const bytes = createTestZip([
      { name: 'a', content: 'one' },
      { name: 'ü/b', content: '' },
    ]);
    const zip = openZip(Buffer.concat([bytes, Buffer.from('a comment')]), LIMITS);
    assert.equal(Buffer.from(zip.read('a')).toString(), 'one');
    assert.equal(zip.read('ü/b').length, 0);
    assert.ok(zip.has('a') && !zip.has('c'));
    assert.throws(() => zip.read('c'), expectedError('c is missing'));
  });

  test('limits the uncompressed size of each file and of all files', () => {
    const zip = openTestZip([
      { name: 'large', content: 'x'.repeat(10_001) },
      { name: 'one', content: 'x'.repeat(9_000) },
      { name: 'two', content: 'x'.repeat(9_000) },
    ]);
    assert.throws(() => zip.read('large'), expectedError('larger when decompressed'));
    assert.equal(zip.read('one').length, 9_000);
    assert.throws(() => zip.read('two'), expectedError('larger when decompressed'));
  });

  for (const [lie, statedSize, reason] of [
    ['is smaller', { bytes: 3 }, 'is damaged'],
    ['is larger', { bytes: 4_000_000_000 }, 'is damaged'],
    ['has other bytes', { crc: 1 }, 'is damaged'],
    ['is encrypted', { flags: 1 }, 'password'],
    ['has another compression', { method: 99 }, 'unsupported compression'],
    ['is not compressed', { method: 0 }, 'is damaged'],
  ] as const) {
    test(`refuses a file if the archive wrongly says that it ${lie}`, () => {
      const zip = openTestZip([{ name: 'a', content: 'x'.repeat(5_000), overrides: statedSize }]);
      assert.throws(() => zip.read('a'), expectedError(reason));
    });
  }

  test('refuses an archive with too many entries, or fewer than declared, before decompressing any', () => {
    assert.throws(() => openTestZip([], { count: 101 }), expectedError('more than 100 files'));
    assert.throws(
      () => openTestZip([{ name: 'a', content: '' }], { count: 2 }),
      expectedError('directory is incomplete'),
    );
  });

  test('throws nothing but UnreadableDocumentError for a truncated or corrupted archive', () => {
    const bytes = createTestZip([{ name: 'a', content: 'some words that are packed' }]);
    for (let length = 0; length < bytes.length; length++) {
      assert.throws(() => openZip(bytes.subarray(0, length), LIMITS).read('a'), { name: 'UnreadableDocumentError' });
    }
    for (let at = 0; at < bytes.length; at++) {
      const broken = Buffer.from(bytes);
      broken[at] = (broken[at] ?? 0) ^ 0xff;
      try {
        openZip(broken, LIMITS).read('a');
      } catch (error) {
        assert.equal(error instanceof Error && error.name, 'UnreadableDocumentError', `byte ${at}: ${String(error)}`);
      }
    }
  });
});
