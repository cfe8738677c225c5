import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import type { Weights, WeightsSource } from '../core/weights.ts';
import type { FakeHub, HubBehaviour } from './__fixtures__/fake-hub.ts';
import { sha256Of, startFakeHub } from './__fixtures__/fake-hub.ts';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import type { TestStore } from './__fixtures__/test-store.ts';
import { createTestStore } from './__fixtures__/test-store.ts';
import type { PullProgress } from './progress.ts';
import type { PullLimits } from './pull-options.ts';

const HUB: Extract<WeightsSource, { type: 'hub' }> = {
  type: 'hub',
  repository: 'owner/repo',
  file: 'some folder/w.gguf',
  revision: 'main',
};
const weightsOf = (source: Partial<typeof HUB> = {}): Weights => ({
  id: 'w',
  licence: 'free',
  contextTokensMax: 1,
  sources: [{ ...HUB, ...source }],
});

interface Scene {
  readonly hub: FakeHub;
  readonly store: TestStore;
  readonly partial: string;
}

async function scene(
  t: TestContext,
  behaviour: Partial<HubBehaviour> = {},
  limits: Partial<PullLimits> = {},
): Promise<Scene> {
  const hub = await startFakeHub(t, behaviour);
  const store = createTestStore(await temporaryFolder(t), { hubUrl: `${hub.url}/`, limits });
  return { hub, store, partial: join(store.folder, 'w.hub.partial') };
}

/** Leaves a part of the file behind, as a process that was killed does. */
async function interrupt({ hub, store }: Scene, breaksAfter = 50_000): Promise<void> {
  const stop = new AbortController();
  hub.behaviour.stopsAfter = breaksAfter;
  const onProgress = ({ doneBytes }: PullProgress): void => {
    if (doneBytes >= breaksAfter) stop.abort(new Error('stopped'));
  };
  await assert.rejects(store.pull(weightsOf(), { signal: stop.signal, onProgress }), /stopped/);
  hub.behaviour.stopsAfter = undefined;
  hub.requests.length = 0;
}

async function assertWhole({ hub, store }: Scene, path: string): Promise<void> {
  assert.deepEqual(await readFile(path), hub.behaviour.content);
  assert.deepEqual((await readdir(store.folder)).toSorted(), ['w.gguf', 'w.gguf.json']);
}

test('a file comes by the hub with its final name and the announced hash', async (t) => {
  const at = await scene(t);
  const path = await at.store.pull(weightsOf());
  assert.equal(path, join(at.store.folder, 'w.gguf'));
  await assertWhole(at, path);
  assert.equal(at.hub.requests[0]?.path, '/owner/repo/resolve/main/some%20folder/w.gguf');
  const [stored] = await at.store.list();
  assert.equal(stored?.verified, 'announced');
  assert.equal(stored?.sha256, sha256Of(at.hub.behaviour.content));
  assert.equal(stored?.source, 'hub owner/repo/some folder/w.gguf at main');
  assert.equal(at.store.progress.at(-1)?.doneBytes, at.hub.behaviour.content.length);
});

test("the catalogue's hash counts more than the hub's", async (t) => {
  const at = await scene(t);
  await at.store.pull(weightsOf({ sha256: sha256Of(at.hub.behaviour.content) }));
  assert.equal((await at.store.list())[0]?.verified, 'catalogue');
});

test('without any hash the file is taken, and the record and the log say so', async (t) => {
  const at = await scene(t, { announced: undefined });
  await at.store.pull(weightsOf());
  assert.equal((await at.store.list())[0]?.verified, 'none');
  assert.ok(at.store.logged.some((line) => line.includes('no hash for this source')));
});

test('a plain etag of the hub itself is a hash, one of the storage behind a redirect is not', async (t) => {
  const direct = await scene(t, { announced: undefined, redirects: false });
  direct.hub.behaviour.etag = `"${sha256Of(direct.hub.behaviour.content)}"`;
  await direct.store.pull(weightsOf());
  assert.equal((await direct.store.list())[0]?.verified, 'announced');

  const behind = await scene(t, { announced: undefined, etag: `"${'0'.repeat(64)}"` });
  await behind.store.pull(weightsOf());
  assert.equal((await behind.store.list())[0]?.verified, 'none');
});

test('content that differs from the announced or the known hash is deleted and refused', async (t) => {
  for (const [behaviour, source] of [
    [{ announced: '0'.repeat(64) }, {}],
    [{}, { sha256: '1'.repeat(64) }],
  ] as const) {
    const at = await scene(t, behaviour);
    await assert.rejects(at.store.pull(weightsOf(source)), {
      kind: 'upstream-failed',
      message: /another content than the (hub|catalogue) says .*deleted/,
    });
    assert.deepEqual(await readdir(at.store.folder), []);
  }
});

test('an interrupted download goes on by byte', async (t) => {
  const at = await scene(t);
  await interrupt(at);
  const have = (await readFile(at.partial)).length;
  assert.ok(have > 0 && have < at.hub.behaviour.content.length);
  await assertWhole(at, await at.store.pull(weightsOf()));
  assert.equal(at.hub.requests.length, 1);
  assert.equal(at.hub.requests[0]?.headers.range, `bytes=${have}-`);
  assert.equal(at.hub.requests[0]?.headers['if-range'], '"one"');
});

test('a part of which nothing more is missing is only checked', async (t) => {
  const at = await scene(t);
  await interrupt(at);
  await writeFile(at.partial, at.hub.behaviour.content);
  await assertWhole(at, await at.store.pull(weightsOf()));
  assert.equal(at.hub.requests.length, 0);
});

test('a part that was changed on disk does not survive the check', async (t) => {
  const at = await scene(t);
  await interrupt(at);
  await writeFile(at.partial, Buffer.alloc(10_000));
  await assert.rejects(at.store.pull(weightsOf()), /another content/);
  await assertWhole(at, await at.store.pull(weightsOf()));
});

test('a hub without ranges, or with another file by now, sends the whole file again', async (t) => {
  for (const change of [{ hasRanges: false }, { etag: '"two"' }]) {
    const at = await scene(t);
    await interrupt(at);
    Object.assign(at.hub.behaviour, change);
    await assertWhole(at, await at.store.pull(weightsOf()));
  }
});

test('a range of a file with another hash or size is not joined to ours', async (t) => {
  for (const content of [Buffer.alloc(160_004, 'b'), Buffer.alloc(200_000, 'b'), Buffer.alloc(20, 'b')]) {
    const at = await scene(t, { etag: undefined });
    await interrupt(at);
    Object.assign(at.hub.behaviour, { content, announced: sha256Of(content) });
    await assertWhole(at, await at.store.pull(weightsOf()));
  }
});

test('a connection that breaks is taken up again, as long as bytes come', async (t) => {
  const at = await scene(t, { stopsAfter: 30_000 });
  let dropped = 0;
  const onProgress = ({ doneBytes }: PullProgress): void => {
    if (doneBytes < dropped + 30_000) return;
    dropped = doneBytes;
    at.hub.drop();
  };
  await assertWhole(at, await at.store.pull(weightsOf(), { onProgress }));
  assert.ok(at.hub.requests.length >= 5, `${at.hub.requests.length} requests`);
});

test('a connection that falls silent is given up and taken up again', async (t) => {
  const at = await scene(t, { stopsAfter: 100_000 }, { silenceMs: 50 });
  await assertWhole(at, await at.store.pull(weightsOf()));
});

test('a hub that does not answer is left after the connect limit', async (t) => {
  const at = await scene(t, { isSilent: true }, { connectMs: 30 });
  await assert.rejects(at.store.pull(weightsOf()), { kind: 'upstream-failed', message: /no answer within 0\.03 s/ });
});

test('a refusal of the hub is told with its status, and not repeated', async (t) => {
  for (const status of [401, 404, 503]) {
    const at = await scene(t, { status });
    await assert.rejects(at.store.pull(weightsOf()), { message: new RegExp(`answered ${status} for http`) });
    assert.equal(at.hub.requests.length, 1);
  }
});

test('a redirect in a circle ends', async (t) => {
  const fetch = (): Promise<Response> =>
    Promise.resolve(new Response(null, { status: 302, headers: { location: '/x' } }));
  const store = createTestStore(await temporaryFolder(t), { hubUrl: 'https://hub.test', fetch });
  await assert.rejects(store.pull(weightsOf()), /redirects more than 5 times/);
});

test('a redirect from https to http is not followed', async (t) => {
  const fetch = (): Promise<Response> =>
    Promise.resolve(new Response(null, { status: 302, headers: { location: 'http://elsewhere.test/x' } }));
  const store = createTestStore(await temporaryFolder(t), { hubUrl: 'https://hub.test', fetch });
  await assert.rejects(store.pull(weightsOf()), /redirects to an address that is not followed/);
});

test('a disk that is too small is told before the first byte is kept', async (t) => {
  const at = await scene(t, {}, { diskReserveBytes: Number.MAX_SAFE_INTEGER });
  await assert.rejects(at.store.pull(weightsOf()), { kind: 'storage-quota', message: /Not enough disk space/ });
  assert.ok(!(await readdir(at.store.folder)).includes('w.hub.partial'));
});
