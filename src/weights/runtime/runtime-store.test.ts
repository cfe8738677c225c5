import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { systemClock } from '../../lib/clock.ts';
import { publish, startFakeRegistry } from '../__fixtures__/fake-registry.ts';
import { temporaryFolder } from '../__fixtures__/temporary-folder.ts';
import { tryPullLock } from '../pull-lock.ts';
import { PULL_LIMITS } from '../pull-options.ts';
import type { RuntimeStoreOptions } from './runtime-store.ts';
import { createRuntimeStore } from './runtime-store.ts';
import type { EngineRuntime } from './speech-runtime.ts';

const FILES = [
  { path: 'package/package.json', content: '{}' },
  { path: 'package/dist/index.js', content: 'main' },
  { path: 'package/dist/index.js.map', content: 'nobody wants it' },
  { path: 'package/bin/linux/lib.so', content: 'a library'.repeat(10_000) },
  { path: 'package/bin/other/lib.so', content: 'of another machine' },
];

async function scene(t: TestContext, given: Partial<RuntimeStoreOptions> = {}) {
  const folder = join(await temporaryFolder(t), 'engines');
  const registry = await startFakeRegistry(t);
  const common = publish(registry, 'common', [{ path: 'package/package.json', content: '{}' }], ['package.json']);
  const main = publish(registry, 'main', FILES, ['package.json', 'dist/', 'bin/linux/']);
  const runtime: EngineRuntime = {
    name: 'speech',
    version: '1.2.3',
    licence: 'free',
    main: 'main',
    packages: [common, main],
  };
  const limits = { diskReserveBytes: 0, lockPollMs: 1, silenceMs: 30_000 };
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
  const add = (of = store()) => of.add({ signal: new AbortController().signal, onProgress: () => undefined });
  return { folder, registry, runtime, store, add };
}

const filesIn = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name).slice(folder.length + 1))
    .toSorted();
};

test('an archive is asked for when there is a file for it: its connection may end before anybody reads', async (t) => {
  const { folder, store, add } = await scene(t);
  const isThere: boolean[] = [];
  const watched = store({
    fetch: (url, init) => {
      if (url.includes('/files/')) isThere.push(existsSync(join(folder, 'speech-1.2.3.partial', 'archive.tgz')));
      return fetch(url, init);
    },
  });
  await add(watched);
  assert.deepEqual(isThere, [true, true]);
});

test('a runtime is unpacked where engines look for it, of this machine and nothing else, once', async (t) => {
  const { folder, registry, store, add } = await scene(t);
  assert.equal(await store().locate(), undefined);
  const path = await add();
  assert.equal(path, join(folder, 'speech-1.2.3', 'node_modules', 'main'));
  assert.equal(await store().locate(), path);
  assert.deepEqual(await filesIn(folder), [
    'speech-1.2.3/node_modules/common/package.json',
    'speech-1.2.3/node_modules/main/bin/linux/lib.so',
    'speech-1.2.3/node_modules/main/dist/index.js',
    'speech-1.2.3/node_modules/main/package.json',
    'speech-1.2.3/runtime.json',
  ]);
  assert.equal((await readFile(join(path, 'bin/linux/lib.so'), 'utf8')).length, 90_000);
  const asked = registry.requests.length;
  assert.equal(await add(), path);
  assert.equal(registry.requests.length, asked, 'it is there');
});

test('two at once install it once', async (t) => {
  const { registry, store, add } = await scene(t);
  const [one, other] = await Promise.all([add(store()), add(store())]);
  assert.equal(one, other);
  assert.deepEqual(
    registry.requests.map(({ path }) => path),
    ['/common', '/files/common', '/main', '/files/main'],
  );
});

test('an archive with other content than is known leaves nothing', async (t) => {
  const { folder, registry, store, add } = await scene(t);
  const right = registry.archives.get('main') ?? assert.fail();
  const changed = Buffer.from(right);
  changed[changed.length - 9] = (changed.at(-9) ?? 0) ^ 1;
  for (const wrong of [changed, Buffer.concat([right, right]), right.subarray(0, 100)]) {
    registry.archives.set('main', wrong);
    await assert.rejects(add(), { kind: 'upstream-failed', message: /main@1\.2\.3 is another one/ });
    assert.deepEqual(await filesIn(folder), []);
    assert.equal(await store().locate(), undefined);
  }
  registry.archives.set('main', right);
  assert.ok(await add());
});

test('an archive without what is kept is no runtime', async (t) => {
  const { folder, registry, runtime, store, add } = await scene(t);
  const empty = publish(registry, 'main', FILES.slice(0, 3), ['package.json', 'dist/', 'bin/linux/']);
  const packages = [empty];
  await assert.rejects(add(store({ runtime: () => ({ ...runtime, packages }) })), /has no bin\/linux\//);
  assert.deepEqual(await filesIn(folder), []);
});

test('a registry that cannot be reached, refuses or falls silent is named', async (t) => {
  const { folder, registry, store, add } = await scene(t);
  const unreached = store({ registryUrl: 'http://127.0.0.1:9/npm' });
  await assert.rejects(add(unreached), {
    kind: 'upstream-failed',
    message: /registry http:\/\/127\.0\.0\.1:9 cannot be reached/,
  });
  registry.status = 403;
  await assert.rejects(add(), { kind: 'upstream-failed', message: /answered 403 for http.*\/common/ });
  registry.status = undefined;
  registry.stopsAfter = 10;
  await assert.rejects(add(store({ limits: { ...PULL_LIMITS, diskReserveBytes: 0, silenceMs: 30 } })), /fell silent/);
  registry.archives.delete('common');
  await assert.rejects(add(), /answered 404/);
  assert.deepEqual(await filesIn(folder), []);
});

test("the registry is the operator's, else npm's, which may want a secret, else the public one", async (t) => {
  const { registry, store, add } = await scene(t);
  const npmrc = join(await temporaryFolder(t), 'npmrc');
  await writeFile(npmrc, `registry=${registry.url}/\n//${new URL(registry.url).host}/:_authToken=secret\n`);
  await add(store({ registryUrl: undefined, environment: { npm_config_userconfig: npmrc } }));
  assert.deepEqual(new Set(registry.requests.map(({ authorization }) => authorization)), new Set(['Bearer secret']));
  await store().remove();
  const nothing = { npm_config_userconfig: '/nowhere', npm_config_globalconfig: '/nowhere' };
  await add(store({ registryUrl: undefined, environment: nothing, defaultRegistryUrl: registry.url }));
  assert.equal(registry.requests.at(-1)?.authorization, undefined);
});

test('an abort ends it and leaves nothing', async (t) => {
  const { folder, registry, store } = await scene(t);
  registry.stopsAfter = 10;
  const stop = new AbortController();
  const reason = new ServiceError('cancelled', 'No.');
  const onProgress = (): void => stop.abort(reason);
  await assert.rejects(store().add({ signal: stop.signal, onProgress }), reason);
  assert.deepEqual(await filesIn(folder), []);
});

test('what an interrupted installation has left is no runtime, and does not disturb the next one', async (t) => {
  const { folder, store, add } = await scene(t);
  for (const name of ['speech-1.2.3.partial', 'speech-1.2.3']) {
    await mkdir(join(folder, name, 'node_modules', 'main'), { recursive: true });
    await writeFile(join(folder, name, 'node_modules', 'main', 'old.js'), '');
  }
  assert.equal(await store().locate(), undefined);
  const path = await add();
  assert.deepEqual((await filesIn(path)).includes('old.js'), false);
  assert.deepEqual((await readdir(folder)).toSorted(), ['speech-1.2.3']);
});

test('remove deletes all versions and nothing else, and not while one is being installed', async (t) => {
  const { folder, runtime, store, add } = await scene(t);
  assert.equal(await store().remove(), false);
  await add();
  await writeFile(join(folder, 'mine.txt'), '');
  const next = store({ runtime: () => ({ ...runtime, version: '2.0.0' }) });
  assert.deepEqual(
    (await next.list()).map(({ version, isOld }) => [version, isOld]),
    [['1.2.3', true]],
  );
  const lock = await tryPullLock({ path: join(folder, 'speech.lock'), clock: systemClock, limits: PULL_LIMITS });
  await assert.rejects(store().remove(), { kind: 'locked' });
  await lock?.release();
  assert.equal(await store().remove(), true);
  assert.deepEqual(await readdir(folder), ['mine.txt']);
  await rm(folder, { recursive: true });
});

test('where there is no runtime for this machine, nothing is there and nothing comes', async (t) => {
  const refusal = new ServiceError('unsupported', 'There is none.');
  const { store, add } = await scene(t, {
    runtime: () => {
      throw refusal;
    },
  });
  assert.equal(await store().locate(), undefined);
  assert.equal(store().runtime, undefined);
  assert.deepEqual(await store().list(), []);
  await assert.rejects(add(), refusal);
});
