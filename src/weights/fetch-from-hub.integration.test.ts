import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Weights, WeightsSource } from '../core/weights.ts';
import { hashBytes, startFakeHub, type FakeHub, type HubBehavior } from './__fixtures__/fake-hub.ts';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { createTestWeightsStore, type TestWeightsStore } from './__fixtures__/test-weights-store.ts';
import type { PullProgress } from './progress-meter.ts';
import type { PullLimits } from './pull-limits.ts';

const HUB: Extract<WeightsSource, { type: 'hub' }> = {
  type: 'hub',
  repository: 'owner/repo',
  file: 'some folder/w.gguf',
  revision: 'main',
};
const createWeights = (source: Partial<typeof HUB> = {}): Weights => ({
  id: 'w',
  licence: 'free',
  contextTokensMax: 1,
  sources: [{ ...HUB, ...source }],
});

interface HubScenario {
  readonly hub: FakeHub;
  readonly store: TestWeightsStore;
  readonly partial: string;
}

async function createScenario(
  t: TestContext,
  behaviour: Partial<HubBehavior> = {},
  limits: Partial<PullLimits> = {},
): Promise<HubScenario> {
  const hub = await startFakeHub(t, behaviour);
  const store = createTestWeightsStore(await createTemporaryFolder(t), { hubUrl: `${hub.url}/`, limits });
  return { hub, store, partial: join(store.folder, 'w.hub.partial') };
}

/** Leaves a partial file behind, as a killed process does. */
async function interrupt({ hub, store }: HubScenario, breaksAfter = 50_000): Promise<void> {
  const stop = new AbortController();
  hub.behavior.stopsAfterBytes = breaksAfter;
  const onProgress = ({ doneBytes }: PullProgress): void => {
    if (doneBytes >= breaksAfter) stop.abort(new Error('stopped'));
  };
  await assert.rejects(store.pull(createWeights(), { signal: stop.signal, onProgress }), /stopped/);
  hub.behavior.stopsAfterBytes = undefined;
  hub.requests.length = 0;
}

async function assertWhole({ hub, store }: HubScenario, path: string): Promise<void> {
  assert.deepEqual(await readFile(path), hub.behavior.content);
  assert.deepEqual((await readdir(store.folder)).toSorted(), ['w.gguf', 'w.gguf.json']);
}

test('stores a file from the hub under its final name with the announced hash', async (t) => {
  const scenario = await createScenario(t);
  const path = await scenario.store.pull(createWeights());
  assert.equal(path, join(scenario.store.folder, 'w.gguf'));
  await assertWhole(scenario, path);
  assert.equal(scenario.hub.requests[0]?.path, '/owner/repo/resolve/main/some%20folder/w.gguf');
  const [stored] = await scenario.store.list();
  assert.equal(stored?.verified, 'announced');
  assert.equal(stored?.sha256, hashBytes(scenario.hub.behavior.content));
  assert.equal(stored?.source, 'hub owner/repo/some folder/w.gguf at main');
  assert.equal(scenario.store.progress.at(-1)?.doneBytes, scenario.hub.behavior.content.length);
});

test("prefers the catalogue's hash to the hub's", async (t) => {
  const scenario = await createScenario(t);
  await scenario.store.pull(createWeights({ sha256: hashBytes(scenario.hub.behavior.content) }));
  assert.equal((await scenario.store.list())[0]?.verified, 'catalogue');
});

test('refuses a file without any hash before its first byte', async (t) => {
  const scenario = await createScenario(t, { announcedSha256: undefined });
  const refusal = {
    kind: 'upstream-failed',
    message: /cannot be verified: neither the configuration nor the hub states its SHA-256\. Set sha256 .* trust: true/,
  };
  await assert.rejects(scenario.store.pull(createWeights()), refusal);
  await assert.rejects(scenario.store.pull(createWeights({ trust: true }), { trust: false }), refusal);
  assert.equal(scenario.hub.requests.length, 2, 'a refused file is not requested again');
  assert.deepEqual(await readdir(scenario.store.folder), []);
  assert.equal(scenario.store.progress.length, 0);
});

test('accepts a file without any hash if it is trusted, and records and logs this', async (t) => {
  for (const [source, options] of [
    [{ trust: true }, {}],
    [{}, { trust: true }],
  ] as const) {
    const scenario = await createScenario(t, { announcedSha256: undefined });
    await scenario.store.pull(createWeights(source), options);
    assert.equal((await scenario.store.list())[0]?.verified, 'none');
    assert.ok(scenario.store.logMessages.some((line) => line.includes('weights downloaded without verification')));
  }
});

test('does not finish a trusted download without trust', async (t) => {
  const scenario = await createScenario(t, { announcedSha256: undefined });
  const stop = new AbortController();
  const onProgress = (): void => stop.abort(new Error('stopped'));
  await assert.rejects(
    scenario.store.pull(createWeights(), { signal: stop.signal, onProgress, trust: true }),
    /stopped/,
  );
  await assert.rejects(scenario.store.pull(createWeights()), /cannot be verified/);
  assert.deepEqual(await readdir(scenario.store.folder), []);
});

test('refuses a file that is not the pinned one before its first byte', async (t) => {
  const scenario = await createScenario(t);
  await assert.rejects(scenario.store.pull(createWeights({ sha256: '1'.repeat(64) }), { trust: true }), {
    kind: 'upstream-failed',
    message: /The hub announces another file: its SHA-256 is [0-9a-f]{64}, but the catalogue states 1{64}/,
  });
  assert.deepEqual(await readdir(scenario.store.folder), []);
  assert.equal(scenario.store.progress.length, 0);
});

test("takes the hub's own ETag as a hash, but not that of the storage after a redirect", async (t) => {
  const direct = await createScenario(t, { announcedSha256: undefined, redirects: false });
  direct.hub.behavior.etag = `"${hashBytes(direct.hub.behavior.content)}"`;
  await direct.store.pull(createWeights());
  assert.equal((await direct.store.list())[0]?.verified, 'announced');

  const behind = await createScenario(t, { announcedSha256: undefined, etag: `"${'0'.repeat(64)}"` });
  await behind.store.pull(createWeights({ trust: true }));
  assert.equal((await behind.store.list())[0]?.verified, 'none');
});

test("rejects and deletes content that differs from the announced or the catalogue's hash", async (t) => {
  for (const [behaviour, source] of [
    [{ announcedSha256: '0'.repeat(64) }, {}],
    [{ announcedSha256: undefined }, { sha256: '1'.repeat(64) }],
  ] as const) {
    const scenario = await createScenario(t, behaviour);
    await assert.rejects(scenario.store.pull(createWeights(source)), {
      kind: 'upstream-failed',
      message: /unexpected content: .* the (hub|catalogue) states .*deleted/,
    });
    assert.deepEqual(await readdir(scenario.store.folder), []);
  }
});

test('resumes an interrupted download at its last byte', async (t) => {
  const scenario = await createScenario(t);
  await interrupt(scenario);
  const have = (await readFile(scenario.partial)).length;
  assert.ok(have > 0 && have < scenario.hub.behavior.content.length);
  await assertWhole(scenario, await scenario.store.pull(createWeights()));
  assert.equal(scenario.hub.requests.length, 1);
  assert.equal(scenario.hub.requests[0]?.headers.range, `bytes=${have}-`);
  assert.equal(scenario.hub.requests[0]?.headers['if-range'], '"one"');
});

test('only verifies a partial file that is already complete', async (t) => {
  const scenario = await createScenario(t);
  await interrupt(scenario);
  await writeFile(scenario.partial, scenario.hub.behavior.content);
  await assertWhole(scenario, await scenario.store.pull(createWeights()));
  assert.equal(scenario.hub.requests.length, 0);
});

test('deletes a partial file that was changed on disk', async (t) => {
  const scenario = await createScenario(t);
  await interrupt(scenario);
  await writeFile(scenario.partial, Buffer.alloc(10_000));
  await assert.rejects(scenario.store.pull(createWeights()), /unexpected content/);
  await assertWhole(scenario, await scenario.store.pull(createWeights()));
});

test('downloads the whole file again when the hub has no ranges or the file has changed', async (t) => {
  for (const change of [{ hasRanges: false }, { etag: '"two"' }]) {
    const scenario = await createScenario(t);
    await interrupt(scenario);
    Object.assign(scenario.hub.behavior, change);
    await assertWhole(scenario, await scenario.store.pull(createWeights()));
  }
});

test('does not append a range of a file with another hash or size', async (t) => {
  for (const content of [Buffer.alloc(160_004, 'b'), Buffer.alloc(200_000, 'b'), Buffer.alloc(20, 'b')]) {
    const scenario = await createScenario(t, { etag: undefined });
    await interrupt(scenario);
    Object.assign(scenario.hub.behavior, { content, announcedSha256: hashBytes(content) });
    await assertWhole(scenario, await scenario.store.pull(createWeights()));
  }
});

test('reconnects after a broken connection as long as bytes arrive', async (t) => {
  const scenario = await createScenario(t, { stopsAfterBytes: 30_000 });
  let dropped = 0;
  const onProgress = ({ doneBytes }: PullProgress): void => {
    if (doneBytes < dropped + 30_000) return;
    dropped = doneBytes;
    scenario.hub.dropConnections();
  };
  await assertWhole(scenario, await scenario.store.pull(createWeights(), { onProgress }));
  assert.ok(scenario.hub.requests.length >= 5, `${scenario.hub.requests.length} requests`);
});

test('reconnects after a stalled connection', async (t) => {
  const scenario = await createScenario(t, { stopsAfterBytes: 100_000 }, { stallMs: 50 });
  await assertWhole(scenario, await scenario.store.pull(createWeights()));
});

test('gives up a hub that does not answer within the connect limit', async (t) => {
  const scenario = await createScenario(t, { isUnresponsive: true }, { connectMs: 30 });
  await assert.rejects(scenario.store.pull(createWeights()), {
    kind: 'upstream-failed',
    message: /no answer within 0\.03 s/,
  });
});

test('reports a refusal of the hub with its status and does not retry', async (t) => {
  for (const status of [401, 404, 503]) {
    const scenario = await createScenario(t, { status });
    await assert.rejects(scenario.store.pull(createWeights()), {
      message: new RegExp(`returned status ${status} for http`),
    });
    assert.equal(scenario.hub.requests.length, 1);
  }
});

test('stops after too many redirects', async (t) => {
  const fetch = (): Promise<Response> =>
    Promise.resolve(new Response(null, { status: 302, headers: { location: '/x' } }));
  const store = createTestWeightsStore(await createTemporaryFolder(t), { hubUrl: 'https://hub.test', fetch });
  await assert.rejects(store.pull(createWeights()), /redirects more than 5 times/);
});

test('does not follow a redirect from HTTPS to HTTP', async (t) => {
  const fetch = (): Promise<Response> =>
    Promise.resolve(new Response(null, { status: 302, headers: { location: 'http://elsewhere.test/x' } }));
  const store = createTestWeightsStore(await createTemporaryFolder(t), { hubUrl: 'https://hub.test', fetch });
  await assert.rejects(store.pull(createWeights()), /redirects to an address that is not allowed/);
});

test('does not follow a redirect from a public hub to the own network, without a request there', async (t) => {
  for (const location of [
    'https://127.0.0.1/w',
    'https://localhost/w',
    'https://169.254.169.254/latest/meta-data',
    'https://[::ffff:10.0.0.1]/w',
    'https://storage.internal/w',
  ]) {
    const requested: string[] = [];
    const fetch = async (url: string): Promise<Response> => {
      requested.push(new URL(url).hostname);
      return new Response(null, { status: 302, headers: { location } });
    };
    const store = createTestWeightsStore(await createTemporaryFolder(t), { hubUrl: 'https://hub.example', fetch });
    await assert.rejects(store.pull(createWeights()), { kind: 'upstream-failed', message: /which is not public/ });
    assert.deepEqual(new Set(requested), new Set(['hub.example']));
  }
});

test('rejects a download that does not fit on the disk before its first byte', async (t) => {
  const scenario = await createScenario(t, {}, { diskReserveBytes: Number.MAX_SAFE_INTEGER });
  await assert.rejects(scenario.store.pull(createWeights()), {
    kind: 'storage-quota',
    message: /Not enough disk space/,
  });
  assert.ok(!(await readdir(scenario.store.folder)).includes('w.hub.partial'));
});

test('stops a body that is longer than announced, or than the limit without a length, and leaves nothing', async (t) => {
  for (const encoding of ['gzip', 'chunked'] as const) {
    const scenario = await createScenario(t, { encoding, redirects: false }, { unstatedBytesMax: 100_000 });
    await assert.rejects(scenario.store.pull(createWeights()), {
      kind: 'upstream-failed',
      message: /The hub sent more than \d+ bytes/,
    });
    assert.equal(scenario.hub.requests.length, 1, 'the download is not repeated');
    assert.deepEqual(await readdir(scenario.store.folder), []);
  }
});
