import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TAR_ENTRIES_MAX } from '../../core/limits.ts';
import { writeTar } from '../__fixtures__/write-tar.ts';
import type { WrittenEntry } from '../__fixtures__/write-tar.ts';
import { readTar } from './read-tar.ts';

/** In pieces that end anywhere. */
async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(archive: Buffer, size = 700): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const { path, body } of readTar(pieces(archive, size))) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    files[path] = Buffer.concat(chunks).toString();
  }
  return files;
}

const FILES: readonly WrittenEntry[] = [
  { path: 'package/a.txt', content: 'one' },
  { path: 'package/empty' },
  { path: 'package/dist/', type: '5' },
  { path: 'b.txt', prefix: 'package/dist', content: 'x'.repeat(1300) },
  { path: 'package/whole-block', content: 'y'.repeat(512) },
];

test('an archive gives its files, in whatever pieces it comes', async () => {
  const wanted = {
    'package/a.txt': 'one',
    'package/empty': '',
    'package/dist/b.txt': 'x'.repeat(1300),
    'package/whole-block': 'y'.repeat(512),
  };
  for (const size of [1, 511, 512, 513, 100_000]) assert.deepEqual(await read(writeTar(FILES), size), wanted);
  assert.deepEqual(await read(writeTar(FILES, { end: false })), wanted, 'the zeros at the end may be missing');
});

test('what the reader of an entry leaves is skipped', async () => {
  const paths: string[] = [];
  for await (const { path, body } of readTar(pieces(writeTar(FILES), 100))) {
    paths.push(path);
    if (path.endsWith('b.txt')) for await (const _first of body) break;
  }
  assert.deepEqual(paths, ['package/a.txt', 'package/empty', 'package/dist/b.txt', 'package/whole-block']);
});

const HOSTILE: readonly [what: string, archive: Buffer, message: RegExp][] = [
  [
    'a path upwards',
    writeTar([{ path: 'package/../../evil' }]),
    /a path that leads elsewhere: "package\/\.\.\/\.\.\/evil"/,
  ],
  ['a path upwards in its prefix', writeTar([{ path: 'x', prefix: '../package' }]), /a path that leads elsewhere/],
  ['an absolute path', writeTar([{ path: '/etc/passwd' }]), /a path that leads elsewhere/],
  ['a path of another system', writeTar([{ path: 'package\\..\\evil' }]), /a path that leads elsewhere/],
  ['a drive', writeTar([{ path: 'C:evil' }]), /a path that leads elsewhere/],
  ['no path', writeTar([{ path: '' }]), /a path that leads elsewhere/],
  ['a control character', writeTar([{ path: 'package/a\nb' }]), /a path that leads elsewhere/],
  ['a link', writeTar([{ path: 'package/link', type: '2' }]), /an entry that is no file: package\/link/],
  ['a second name', writeTar([{ path: 'package/link', type: '1' }]), /an entry that is no file/],
  [
    'a header that renames what follows',
    writeTar([{ path: 'pax', type: 'x', content: '20 path=../evil\n' }]),
    /no file/,
  ],
  ['a damaged header', writeTar([{ path: 'package/a', checksum: 1 }]), /a damaged header/],
  ['a header that is cut', writeTar([{ path: 'package/a' }]).subarray(0, 300), /a damaged header/],
  ['a size that is none', writeTar([{ path: 'package/a', size: 'abc' }]), /no size that can be for package\/a/],
  ['a size beyond any file', writeTar([{ path: 'package/a', size: '77777777777\0' }]), /no size that can be/],
  ['a binary size', writeTar([{ path: 'package/a', size: '\u0080\0\0\0\0\0\0\0\0\0\0\u0001' }]), /no size that can be/],
  [
    'a file that is cut',
    writeTar([{ path: 'package/a', size: '00000001750\0', content: 'short' }], { end: false }),
    /ends in the middle/,
  ],
  [
    'entries without end',
    writeTar(Array.from({ length: TAR_ENTRIES_MAX + 1 }, (_, n) => ({ path: `package/${n}` }))),
    /more than 10000 entries/,
  ],
];

for (const [what, archive, message] of HOSTILE)
  test(`an archive with ${what} is refused`, async () => {
    await assert.rejects(read(archive, 4096), { kind: 'upstream-failed', message });
  });
