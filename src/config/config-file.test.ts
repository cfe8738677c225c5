import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { addToConfigFile, readModelsSection } from './config-file.ts';

describe('the editor of the configuration file', () => {
  let folder = '';
  let file = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-config-'));
    file = join(folder, 'parley.yaml');
  });
  afterEach(() => rm(folder, { recursive: true }));
  const text = () => readFile(file, 'utf8');

  it('adds an entry and keeps all comments and the order', async () => {
    await writeFile(
      file,
      '# top\nport: 8000 # the port\nmodels:\n  # mine\n  old:\n    a: 1 # one\n\n# end\nstrict: true\n',
    );
    await addToConfigFile(file, 'models', { key: 'new', value: { url: 'https://x.example', tags: ['a: b'] } });
    assert.equal(
      await text(),
      '# top\nport: 8000 # the port\nmodels:\n  # mine\n  old:\n    a: 1 # one\n  new:\n    url: https://x.example\n' +
        '    tags:\n      - "a: b"\n\n# end\nstrict: true\n',
    );
    assert.deepEqual(readModelsSection(file).models, {
      old: { a: 1 },
      new: { url: 'https://x.example', tags: ['a: b'] },
    });
  });

  it('creates a missing file and its folder, readable only by its owner', async () => {
    file = join(folder, 'data', 'parley.yaml');
    await addToConfigFile(file, 'aliases', { key: 'gpt-*', value: 'svc-plus' });
    assert.equal(await text(), 'aliases:\n  gpt-*: svc-plus\n');
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(join(folder, 'data')), ['parley.yaml']);
  });

  it('fills an empty section', async () => {
    for (const before of ['models: # none yet\nport: 1\n', 'models:\n  # none yet\nport: 1\n', 'models:\n# none yet']) {
      await writeFile(file, before);
      await addToConfigFile(file, 'models', { key: 'a', value: 1 });
      assert.deepEqual(readModelsSection(file).models, { a: 1 });
      assert.match(await text(), /# none yet\n/);
    }
  });

  it('keeps the mode of the file, and a symbolic link to it', async () => {
    const real = join(folder, 'real.yaml');
    await writeFile(real, 'port: 1\n');
    await chmod(real, 0o640);
    await symlink(real, file);
    await addToConfigFile(file, 'models', { key: 'a', value: 1 });
    assert.equal(await readFile(real, 'utf8'), 'port: 1\nmodels:\n  a: 1\n');
    assert.equal((await stat(real)).mode & 0o777, 0o640);
  });

  it('does not overwrite an existing entry or an invalid file', async () => {
    await writeFile(file, 'models: {a: 1}\n');
    await assert.rejects(addToConfigFile(file, 'models', { key: 'a', value: 2 }), { kind: 'conflict' });
    for (const broken of ['models: [1]\n', 'models: {a: 1\n', '- 1\n']) {
      await writeFile(file, broken);
      await assert.rejects(addToConfigFile(file, 'models', { key: 'b', value: 2 }), { kind: 'invalid-request' });
      assert.equal(await text(), broken);
    }
  });

  it('reads the models again, and rejects a file with an error in any section', async () => {
    assert.deepEqual(readModelsSection(file), { models: undefined, weights: undefined, aliases: undefined });
    await writeFile(file, 'models: {a: 1}\naliases: {b: a}\n');
    assert.deepEqual(readModelsSection(file), { models: { a: 1 }, weights: undefined, aliases: { b: 'a' } });
    await writeFile(file, 'model: {a: 1}\n');
    assert.throws(() => readModelsSection(file), { kind: 'invalid-request', message: /did you mean models\?/ });
  });
});
