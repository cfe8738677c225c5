import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, describe, it } from 'node:test';
import { findProgram } from './find-program.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-path-'));
after(() => rmSync(root, { recursive: true }));

const [plain, folders, first, second] = ['plain', 'folders', 'first', 'second'].map((name) => join(root, name));
for (const folder of [plain, folders, first, second]) mkdirSync(folder ?? '');
writeFileSync(join(root, 'plain', 'serve'), 'no program');
mkdirSync(join(root, 'folders', 'serve'));
for (const folder of ['first', 'second']) {
  writeFileSync(join(root, folder, 'serve'), '');
  chmodSync(join(root, folder, 'serve'), 0o755);
}

describe('findProgram', () => {
  it('finds the first executable file along PATH, and skips folders and other files', async () => {
    const PATH = ['', join(root, 'nowhere'), plain, folders, first, second].join(':');
    assert.equal(await findProgram('serve', { PATH }), join(root, 'first', 'serve'));
    assert.equal(await findProgram('other', { PATH }), undefined);
    assert.equal(await findProgram('serve', { PATH: '' }), undefined);
    assert.equal(await findProgram('serve', {}), undefined);
  });

  it('treats a name with a slash as a path', async () => {
    const path = join(root, 'second', 'serve');
    assert.equal(await findProgram(path, {}), path);
    assert.equal(await findProgram(`./${relative(process.cwd(), path)}`, {}), path);
    assert.equal(await findProgram(join(root, 'plain', 'serve'), {}), undefined);
  });
});
