import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TAR_ENTRIES_MAX } from '../limits.ts';
import { writeTar, type TestTarEntry } from '../__fixtures__/write-test-tar.ts';
import { readTar } from './read-tar.ts';

/** Splits bytes into chunks of a fixed size, independent of the tar format. */
async function* splitIntoPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function readArchive(archive: Buffer, size = 700): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const { path, body } of readTar(splitIntoPieces(archive, size))) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    files[path] = Buffer.concat(chunks).toString();
  }
  return files;
}

const FILES: readonly TestTarEntry[] = [
  { path: 'package/a.txt', content: 'one' },
  { path: 'package/empty' },
  { path: 'package/dist/', type: '5' },
  { path: 'b.txt', prefix: 'package/dist', content: 'x'.repeat(1300) },
  { path: 'package/whole-block', content: 'y'.repeat(512) },
];

test('yields the files of an archive for any chunk size', async () => {
  const expected = {
    'package/a.txt': 'one',
    'package/empty': '',
    'package/dist/b.txt': 'x'.repeat(1300),
    'package/whole-block': 'y'.repeat(512),
  };
  for (const size of [1, 511, 512, 513, 100_000]) assert.deepEqual(await readArchive(writeTar(FILES), size), expected);
  assert.deepEqual(
    await readArchive(writeTar(FILES, { end: false })),
    expected,
    'the zero blocks at the end may be missing',
  );
});

test('skips the unread rest of an entry', async () => {
  const paths: string[] = [];
  for await (const { path, body } of readTar(splitIntoPieces(writeTar(FILES), 100))) {
    paths.push(path);
    if (path.endsWith('b.txt')) for await (const _first of body) break;
  }
  assert.deepEqual(paths, ['package/a.txt', 'package/empty', 'package/dist/b.txt', 'package/whole-block']);
});

const HOSTILE: readonly [what: string, archive: Buffer, message: RegExp][] = [
  [
    'a path that leads upwards',
    writeTar([{ path: 'package/../../evil' }]),
    /an unsafe path: "package\/\.\.\/\.\.\/evil"/,
  ],
  ['a prefix that leads upwards', writeTar([{ path: 'x', prefix: '../package' }]), /an unsafe path/],
  ['an absolute path', writeTar([{ path: '/etc/passwd' }]), /an unsafe path/],
  ['a Windows path', writeTar([{ path: 'package\\..\\evil' }]), /an unsafe path/],
  ['a drive letter', writeTar([{ path: 'C:evil' }]), /an unsafe path/],
  ['an empty path', writeTar([{ path: '' }]), /an unsafe path/],
  ['a control character', writeTar([{ path: 'package/a\nb' }]), /an unsafe path/],
  ['a symbolic link', writeTar([{ path: 'package/link', type: '2' }]), /an entry that is not a file: package\/link/],
  ['a hard link', writeTar([{ path: 'package/link', type: '1' }]), /an entry that is not a file/],
  [
    'a header that renames the next entry',
    writeTar([{ path: 'pax', type: 'x', content: '20 path=../evil\n' }]),
    /not a file/,
  ],
  ['a damaged header', writeTar([{ path: 'package/a', checksum: 1 }]), /a damaged header/],
  ['a truncated header', writeTar([{ path: 'package/a' }]).subarray(0, 300), /a damaged header/],
  ['a size that is not a number', writeTar([{ path: 'package/a', size: 'abc' }]), /an invalid size for package\/a/],
  ['a size above the limit', writeTar([{ path: 'package/a', size: '77777777777\0' }]), /an invalid size/],
  ['a binary size', writeTar([{ path: 'package/a', size: '\u0080\0\0\0\0\0\0\0\0\0\0\u0001' }]), /an invalid size/],
  [
    'a truncated file',
    writeTar([{ path: 'package/a', size: '00000001750\0', content: 'short' }], { end: false }),
    /ends in the middle/,
  ],
  [
    'too many entries',
    writeTar(Array.from({ length: TAR_ENTRIES_MAX + 1 }, (_, n) => ({ path: `package/${n}` }))),
    /more than 10000 entries/,
  ],
];

for (const [what, archive, message] of HOSTILE)
  test(`rejects an archive with ${what}`, async () => {
    await assert.rejects(readArchive(archive, 4096), { kind: 'upstream-failed', message });
  });
