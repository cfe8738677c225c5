import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTemporaryFolder } from '../__fixtures__/temporary-folder.ts';
import { findNpmRegistry } from './npm-config.ts';

/** Creates a home folder and a Node installation for the test, so that the machine's own files are not read. */
async function createConfigFiles(
  t: Parameters<typeof createTemporaryFolder>[0],
  files: { user?: string; global?: string },
) {
  const home = await createTemporaryFolder(t);
  const node = join(home, 'node', 'bin', 'node');
  await mkdir(join(home, 'node', 'etc'), { recursive: true });
  if (files.user !== undefined) await writeFile(join(home, '.npmrc'), files.user);
  if (files.global !== undefined) await writeFile(join(home, 'node', 'etc', 'npmrc'), files.global);
  return { home, node };
}

test("finds npm's registry in the order environment, user, machine", async (t) => {
  const both = await createConfigFiles(t, {
    user: 'registry=https://user.test/npm/',
    global: 'registry = https://all.test',
  });
  const find = (environment: Record<string, string>, at = both) => findNpmRegistry(environment, at);
  assert.deepEqual(await find({ npm_config_registry: 'https://env.test' }), { url: 'https://env.test' });
  assert.deepEqual(await find({ NPM_CONFIG_REGISTRY: 'https://env.test' }), { url: 'https://env.test' });
  assert.deepEqual(await find({}), { url: 'https://user.test/npm/' });
  assert.deepEqual(await find({}, await createConfigFiles(t, { global: 'registry = "https://all.test"' })), {
    url: 'https://all.test',
  });
  const other = join(both.home, 'node', 'etc', 'npmrc');
  assert.deepEqual(await find({ npm_config_userconfig: other }), { url: 'https://all.test' });
});

test('finds no registry in a file without a valid one', async (t) => {
  for (const user of [
    '# registry=https://a.test\n;registry=https://a.test\nfund=false\n',
    'registry=not an address',
    '',
  ]) {
    const found = await findNpmRegistry({}, await createConfigFiles(t, { user, global: 'audit=false' }));
    assert.ok(found === undefined || found.url !== 'https://a.test', user);
    if (user.startsWith('registry')) assert.equal(found, undefined);
  }
});

test('returns only the credentials of the registry', async (t) => {
  const find = async (user: string) =>
    (
      await findNpmRegistry(
        { TOKEN: 'from-env' },
        await createConfigFiles(t, { user: `registry=https://r.test/npm/\n${user}` }),
      )
    )?.authorization;
  assert.equal(await find('//r.test/npm/:_authToken=abc'), 'Bearer abc');
  assert.equal(await find('//r.test/:_authToken=${TOKEN}'), 'Bearer from-env');
  assert.equal(await find('//r.test/npm/:_auth=dTpw'), 'Basic dTpw');
  assert.equal(await find('//r.test/npm/:username=u\n//r.test/npm/:_password=cA=='), 'Basic dTpw');
  assert.equal(await find('//other.test/npm/:_authToken=abc\n//r.test/np/:_authToken=abc'), undefined);
});
