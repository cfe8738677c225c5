import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createFile, replaceFile } from './durable-file.ts';

describe('durable files', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-durable-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('replaces a file, sets its mode and leaves no other file', async () => {
    const path = join(folder, 'a');
    await writeFile(path, 'old', { mode: 0o644 });
    await replaceFile(path, 'new', { mode: 0o600 });
    assert.equal(await readFile(path, 'utf8'), 'new');
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(folder), ['a']);
  });

  it('lets exactly one of several creators succeed, with its whole text', async () => {
    const path = join(folder, 'b');
    const texts = Array.from({ length: 8 }, (_, index) => `text ${index}`);
    const won = await Promise.all(texts.map((text) => createFile(path, text, { mode: 0o600 })));
    assert.equal(won.filter(Boolean).length, 1);
    assert.equal(await readFile(path, 'utf8'), texts[won.indexOf(true)]);
    assert.deepEqual((await readdir(folder)).toSorted(), ['a', 'b']);
  });
});
