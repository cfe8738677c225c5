import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { systemClock } from '../../lib/clock.ts';
import { tryLockFile } from '../../lib/file-lock.ts';
import { publishPackage, startFakeRegistry } from '../__fixtures__/fake-registry.ts';
import { createTemporaryFolder } from '../__fixtures__/temporary-folder.ts';
import { createRuntimeStore, type RuntimeStoreOptions } from './runtime-store.ts';
import type { EngineRuntime } from './speech-runtime.ts';

const FILES = [
  { path: 'package/package.json', content: '{}' },
  { path: 'package/dist/index.js', content: 'main' },
  { path: 'package/dist/index.js.map', content: 'not needed' },
  { path: 'package/bin/linux/lib.so', content: 'a library'.repeat(10_000) },
  { path: 'package/bin/other/lib.so', content: 'for another platform' },
];

async function createScenario(t: TestContext, given: Partial<RuntimeStoreOptions> = {}) {
  const folder = join(await createTemporaryFolder(t), 'engines');
  const registry = await startFakeRegistry(t);
  const common = publishPackage(
    registry,
    'common',
    [{ path: 'package/package.json', content: '{}' }],
    ['package.json'],
  );
  const main = publishPackage(registry, 'main', FILES, ['package.json', 'dist/', 'bin/linux/']);
  const runtime: EngineRuntime = {
    name: 'speech',
    version: '1.2.3',
    licence: 'free',
    main: 'main',
    packages: [common, main],
  };
  const limits = { diskReserveBytes: 0, lockPollMs: 1, stallMs: 30_000 };
  const options = (more: Partial<RuntimeStoreOptions> = {}): RuntimeStoreOptions => ({
    folder,
    runtime: () => runtime,
    registryUrl: registry.url,
    defaultRegistryUrl: 'http://127.0.0.1:9',
    environment: {},
    fetch: (url, init) => fetch(url, init),
    clock: systemClock,
    log: { info: () => undefined },
    limits,
    ...given,
    ...more,
  });
  const store = (more?: Partial<RuntimeStoreOptions>) => createRuntimeStore(options(more));
  const installRuntime = (target = store()) =>
    target.install({ signal: new AbortController().signal, onProgress: () => undefined });
  return { folder, registry, runtime, store, installRuntime: installRuntime };
}

const listFiles = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name).slice(folder.length + 1))
    .toSorted();
};

test('opens the file before it requests the archive, whose connection may close early', async (t) => {
  const { folder, store, installRuntime } = await createScenario(t);
  const isThere: boolean[] = [];
  const watched = store({
    fetch: (url, init) => {
      if (url.includes('/files/')) isThere.push(existsSync(join(folder, 'speech-1.2.3.partial', 'archive.tgz')));
      return fetch(url, init);
    },
  });
  await installRuntime(watched);
  assert.deepEqual(isThere, [true, true]);
});

test('unpacks the files of this platform where engines load them, once', async (t) => {
  const { folder, registry, store, installRuntime } = await createScenario(t);
  assert.equal(await store().locate(), undefined);
  const path = await installRuntime();
  assert.equal(path, join(folder, 'speech-1.2.3', 'node_modules', 'main'));
  assert.equal(await store().locate(), path);
  assert.deepEqual(await listFiles(folder), [
    'speech-1.2.3/node_modules/common/package.json',
    'speech-1.2.3/node_modules/main/bin/linux/lib.so',
    'speech-1.2.3/node_modules/main/dist/index.js',
    'speech-1.2.3/node_modules/main/package.json',
    'speech-1.2.3/runtime.json',
  ]);
  assert.equal((await readFile(join(path, 'bin/linux/lib.so'), 'utf8')).length, 90_000);
  const requestCount = registry.requests.length;
  assert.equal(await installRuntime(), path);
  assert.equal(registry.requests.length, requestCount, 'the runtime is already installed');
});

test('downloads once when two installations run at the same time', async (t) => {
  const { registry, store, installRuntime } = await createScenario(t);
  const [one, other] = await Promise.all([installRuntime(store()), installRuntime(store())]);
  assert.equal(one, other);
  assert.deepEqual(
    registry.requests.map(({ path }) => path),
    ['/common', '/files/common', '/main', '/files/main'],
  );
});

test('leaves nothing behind when the archive differs from the pinned one', async (t) => {
  const { folder, registry, store, installRuntime } = await createScenario(t);
  const right = registry.archives.get('main') ?? assert.fail();
  const changed = Buffer.from(right);
  changed[changed.length - 9] = (changed.at(-9) ?? 0) ^ 1;
  for (const wrong of [changed, Buffer.concat([right, right]), right.subarray(0, 100)]) {
    registry.archives.set('main', wrong);
    await assert.rejects(installRuntime(), { kind: 'upstream-failed', message: /main@1\.2\.3 differs from the one/ });
    assert.deepEqual(await listFiles(folder), []);
    assert.equal(await store().locate(), undefined);
  }
  registry.archives.set('main', right);
  assert.ok(await installRuntime());
});

test('rejects an archive that lacks an included path', async (t) => {
  const { folder, registry, runtime, store, installRuntime } = await createScenario(t);
  const empty = publishPackage(registry, 'main', FILES.slice(0, 3), ['package.json', 'dist/', 'bin/linux/']);
  const packages = [empty];
  await assert.rejects(installRuntime(store({ runtime: () => ({ ...runtime, packages }) })), /lacks bin\/linux\//);
  assert.deepEqual(await listFiles(folder), []);
});

test('names a registry that is unreachable, refuses, or stalls', async (t) => {
  const { folder, registry, store, installRuntime } = await createScenario(t);
  const unreached = store({ registryUrl: 'http://127.0.0.1:9/npm' });
  await assert.rejects(installRuntime(unreached), {
    kind: 'upstream-failed',
    message: /Cannot reach the package registry http:\/\/127\.0\.0\.1:9/,
  });
  registry.status = 403;
  await assert.rejects(installRuntime(), {
    kind: 'upstream-failed',
    message: /returned status 403 for http.*\/common/,
  });
  registry.status = undefined;
  registry.stopsAfterBytes = 10;
  await assert.rejects(installRuntime(store({ limits: { diskReserveBytes: 0, stallMs: 30 } })), /stalled for/);
  registry.archives.delete('common');
  await assert.rejects(installRuntime(), /returned status 404/);
  assert.deepEqual(await listFiles(folder), []);
});

test("uses the operator's registry, then npm's with its credentials, then the public one", async (t) => {
  const { registry, store, installRuntime } = await createScenario(t);
  const npmrc = join(await createTemporaryFolder(t), 'npmrc');
  await writeFile(npmrc, `registry=${registry.url}/\n//${new URL(registry.url).host}/:_authToken=secret\n`);
  await installRuntime(store({ registryUrl: undefined, environment: { npm_config_userconfig: npmrc } }));
  assert.deepEqual(new Set(registry.requests.map(({ authorization }) => authorization)), new Set(['Bearer secret']));
  await store().remove();
  const nothing = { npm_config_userconfig: '/nowhere', npm_config_globalconfig: '/nowhere' };
  await installRuntime(store({ registryUrl: undefined, environment: nothing, defaultRegistryUrl: registry.url }));
  assert.equal(registry.requests.at(-1)?.authorization, undefined);
});

test('leaves nothing behind after an abort', async (t) => {
  const { folder, registry, store } = await createScenario(t);
  registry.stopsAfterBytes = 10;
  const stop = new AbortController();
  const reason = new ServiceError('cancelled', 'No.');
  const onProgress = (): void => stop.abort(reason);
  await assert.rejects(store().install({ signal: stop.signal, onProgress }), reason);
  assert.deepEqual(await listFiles(folder), []);
});

test('ignores and replaces the remains of an interrupted installation', async (t) => {
  const { folder, store, installRuntime } = await createScenario(t);
  for (const name of ['speech-1.2.3.partial', 'speech-1.2.3']) {
    await mkdir(join(folder, name, 'node_modules', 'main'), { recursive: true });
    await writeFile(join(folder, name, 'node_modules', 'main', 'old.js'), '');
  }
  assert.equal(await store().locate(), undefined);
  const path = await installRuntime();
  assert.deepEqual((await listFiles(path)).includes('old.js'), false);
  assert.deepEqual((await readdir(folder)).toSorted(), ['speech-1.2.3']);
});

test('remove deletes all versions and nothing else, and is refused during an installation', async (t) => {
  const { folder, runtime, store, installRuntime } = await createScenario(t);
  assert.equal(await store().remove(), false);
  await installRuntime();
  await writeFile(join(folder, 'mine.txt'), '');
  const next = store({ runtime: () => ({ ...runtime, version: '2.0.0' }) });
  assert.deepEqual(
    (await next.list()).map(({ version, isOutdated }) => [version, isOutdated]),
    [['1.2.3', true]],
  );
  const lock = tryLockFile(join(folder, 'speech.lock'));
  await assert.rejects(store().remove(), { kind: 'locked' });
  lock?.release();
  assert.equal(await store().remove(), true);
  assert.deepEqual(await readdir(folder), ['mine.txt']);
  await rm(folder, { recursive: true });
});

test('finds and installs nothing on a machine without a runtime', async (t) => {
  const refusal = new ServiceError('unsupported', 'There is none.');
  const { store, installRuntime } = await createScenario(t, {
    runtime: () => {
      throw refusal;
    },
  });
  assert.equal(await store().locate(), undefined);
  assert.equal(store().runtime, undefined);
  assert.deepEqual(await store().list(), []);
  await assert.rejects(installRuntime(), refusal);
});
