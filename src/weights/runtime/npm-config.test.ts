import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../__fixtures__/temporary-folder.ts';
import { findNpmRegistry } from './npm-config.ts';

/** A home and a Node installation of the test's own; nothing of this machine's. */
async function place(t: Parameters<typeof temporaryFolder>[0], files: { user?: string; global?: string }) {
  const home = await temporaryFolder(t);
  const node = join(home, 'node', 'bin', 'node');
  await mkdir(join(home, 'node', 'etc'), { recursive: true });
  if (files.user !== undefined) await writeFile(join(home, '.npmrc'), files.user);
  if (files.global !== undefined) await writeFile(join(home, 'node', 'etc', 'npmrc'), files.global);
  return { home, node };
}

test('the registry is the one that npm would ask: environment, then the user, then the machine', async (t) => {
  const both = await place(t, { user: 'registry=https://user.test/npm/', global: 'registry = https://all.test' });
  const find = (environment: Record<string, string>, at = both) => findNpmRegistry(environment, at);
  assert.deepEqual(await find({ npm_config_registry: 'https://env.test' }), { url: 'https://env.test' });
  assert.deepEqual(await find({ NPM_CONFIG_REGISTRY: 'https://env.test' }), { url: 'https://env.test' });
  assert.deepEqual(await find({}), { url: 'https://user.test/npm/' });
  assert.deepEqual(await find({}, await place(t, { global: 'registry = "https://all.test"' })), {
    url: 'https://all.test',
  });
  const other = join(both.home, 'node', 'etc', 'npmrc');
  assert.deepEqual(await find({ npm_config_userconfig: other }), { url: 'https://all.test' });
});

test('a file that says nothing of a registry, or nonsense, names none', async (t) => {
  for (const user of [
    '# registry=https://a.test\n;registry=https://a.test\nfund=false\n',
    'registry=not an address',
    '',
  ]) {
    const found = await findNpmRegistry({}, await place(t, { user, global: 'audit=false' }));
    assert.ok(found === undefined || found.url !== 'https://a.test', user);
    if (user.startsWith('registry')) assert.equal(found, undefined);
  }
});

test('secrets are those of the registry, and of no other', async (t) => {
  const find = async (user: string) =>
    (await findNpmRegistry({ TOKEN: 'from-env' }, await place(t, { user: `registry=https://r.test/npm/\n${user}` })))
      ?.authorization;
  assert.equal(await find('//r.test/npm/:_authToken=abc'), 'Bearer abc');
  assert.equal(await find('//r.test/:_authToken=${TOKEN}'), 'Bearer from-env');
  assert.equal(await find('//r.test/npm/:_auth=dTpw'), 'Basic dTpw');
  assert.equal(await find('//r.test/npm/:username=u\n//r.test/npm/:_password=cA=='), 'Basic dTpw');
  assert.equal(await find('//other.test/npm/:_authToken=abc\n//r.test/np/:_authToken=abc'), undefined);
});
