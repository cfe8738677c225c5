import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { PromptSegment } from '../../core/prompt.ts';
import {
  createTestScheduler,
  type TestCallOptions,
  type TestRequest,
  type TestScheduler,
  type TestSchedulerOptions,
} from './__fixtures__/test-scheduler.ts';
import { createPrefixStore } from './prefix-store.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-cache-'));
after(() => rmSync(root, { recursive: true }));
let folders = 0;

/** A scheduler with an explicit cache; one character is one token. */
function createCacheSetup(options: TestSchedulerOptions = {}) {
  const folder = join(root, String(++folders));
  const time = { now: 0 };
  const prefixes = createPrefixStore({
    folder,
    clock: { monotonic: () => time.now },
    ttlMs: 1_000,
    workspaceBytesMax: 1e9,
    workspaceEntriesMax: 64,
    totalBytesMax: 1e9,
    freeBytesMin: 0,
    warn: () => undefined,
  });
  const setup = createTestScheduler({ contextTokens: 8_192, sequences: 1, prefixStore: prefixes, ...options });
  return { ...setup, prefixes, folder, time };
}

const plain = (text: string) => ({ text, special: false });
const marked = (text: string) => ({ text, special: false, cacheMark: true as const });
/** A request with these prompt segments. */
const createCall = (segments: readonly PromptSegment[], more: TestCallOptions = {}): TestCallOptions => ({
  input: { type: 'segments', segments },
  maxTokens: 2,
  ...more,
});
const seeded = { sampling: { seed: 7 } };

const getCacheCounts = (request: TestRequest): unknown[] => {
  const { cachedTokens, cacheCreationTokens, usesExplicitCache } = request.getFinished().counts;
  return [cachedTokens, cacheCreationTokens, usesExplicitCache];
};

/** Lets other workspaces use all sequences. */
const evictSequences = async (setup: TestScheduler): Promise<void> => {
  for (let i = 0; i < setup.model.sequences; i++)
    await setup.run({ prompt: `${i}`.repeat(50), workspace: `other ${i}`, maxTokens: 1 });
};

const A = 'a'.repeat(1_600);
const B = 'b'.repeat(800);

describe('createScheduler: explicit cache', () => {
  it('stores a marked prefix that survives the eviction of its sequence, and counts it once', async () => {
    const setup = createCacheSetup();
    const first = await setup.run(createCall([marked(A), plain('one')]));
    assert.deepEqual(getCacheCounts(first), [0, 1_600, true]);
    await evictSequences(setup);
    const second = await setup.run(createCall([marked(A), plain('two')]));
    assert.deepEqual(getCacheCounts(second), [1_600, 0, true]);
    const alone = await createTestScheduler({ contextTokens: 8_192 }).run({ prompt: `${A}two`, maxTokens: 2 });
    assert.equal(second.getText(), alone.getText());
  });

  it('extends a stored prefix by a longer one', async () => {
    const setup = createCacheSetup();
    await setup.run(createCall([marked(A), plain('one')]));
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([plain(A), marked(B), plain('x')]))), [
      1_600,
      800,
      true,
    ]);
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([plain(A), marked(B), plain('y')]))), [2_400, 0, true]);
    await evictSequences(setup);
    // The shorter entry is still there for other prompts.
    assert.deepEqual(getCacheCounts(await setup.run(createCall([plain(A), marked('c'), plain('z')]))), [
      1_600,
      0,
      true,
    ]);
  });

  it('stores a prefix of a live sequence that holds more tokens', async () => {
    const setup = createCacheSetup();
    await setup.run({ prompt: `${A}and so on`, maxTokens: 1 });
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked(A), plain('and so on!')]))), [
      1_609,
      1_600,
      true,
    ]);
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked(A), plain('and not')]))), [1_600, 0, true]);
  });

  it('restarts the expiry time of a prefix that is reused from a live sequence', async () => {
    const setup = createCacheSetup();
    await setup.run(createCall([marked(A), plain('one')]));
    setup.time.now = 900;
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked(A), plain('one more')]))), [1_603, 0, true]);
    setup.time.now = 1_800;
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked(A), plain('two')]))), [1_600, 0, true]);
    setup.time.now = 2_800;
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked(A), plain('two')]))), [0, 1_600, true]);
  });

  it('restarts the expiry time of a prefix that serves a longer one', async () => {
    const setup = createCacheSetup();
    await setup.run(createCall([marked(A), plain('one')]));
    setup.time.now = 900;
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([plain(A), marked(B), plain('x')]))), [
      1_600,
      800,
      true,
    ]);
    setup.time.now = 1_800;
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked(A), plain('y')]))), [1_600, 0, true]);
  });

  it('evaluates the last token again if the prefix is the whole prompt', async () => {
    const setup = createCacheSetup();
    const first = await setup.run(createCall([marked(A)]));
    await evictSequences(setup);
    const again = await setup.run(createCall([marked(A)]));
    assert.deepEqual(getCacheCounts(again), [1_599, 0, true]);
    assert.equal(again.getText(), first.getText());
  });

  it('stores nothing shorter than the minimum', async () => {
    const setup = createCacheSetup();
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked('a'.repeat(1_023)), plain('x')]))), [
      0,
      0,
      undefined,
    ]);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked('b'.repeat(1_024)), plain('x')]))), [
      0,
      1_024,
      true,
    ]);
    assert.equal((await readdir(setup.folder)).length, 1);
  });

  it('stores several prefixes of one prompt', async () => {
    const setup = createCacheSetup();
    const both = [marked(A), marked(B), plain('x')];
    assert.deepEqual(getCacheCounts(await setup.run(createCall(both))), [0, 2_400, true]);
    assert.equal((await readdir(setup.folder)).length, 2);
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked(A), plain('y')]))), [1_600, 0, true]);
  });

  it('does not share prefixes across workspaces', async () => {
    const setup = createCacheSetup();
    await setup.run(createCall([marked(A), plain('one')]));
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked(A), plain('two')], { workspace: 'v' }))), [
      0,
      1_600,
      true,
    ]);
  });

  it('reports and looks up nothing for a prompt without marks', async () => {
    const setup = createCacheSetup();
    await setup.run(createCall([marked(A), plain('one')]));
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run({ prompt: `${A}two`, maxTokens: 1 })), [0, undefined, undefined]);
  });

  it('writes a prefix once for concurrent requests, and counts it for that request only', async () => {
    const setup = createCacheSetup({ sequences: 3 });
    const all = await Promise.all(['one', 'two', 'six'].map((end) => setup.run(createCall([marked(A), plain(end)]))));
    const usages = all.map(getCacheCounts);
    assert.deepEqual(
      usages.toSorted((a, b) => Number(a[1]) - Number(b[1])),
      [
        [0, 0, undefined],
        [0, 0, undefined],
        [0, 1_600, true],
      ],
    );
    assert.equal((await readdir(setup.folder)).length, 1);
  });

  it('continues without the cache if the file cannot be written', async () => {
    const setup = createCacheSetup({
      onSave: () => {
        throw new Error('no space left');
      },
    });
    const request = await setup.run(createCall([marked(A), plain('one')]));
    assert.deepEqual(getCacheCounts(request), [0, 0, undefined]);
    assert.equal(request.getText().length, 2);
  });

  it('evaluates a prefix with a broken file again, and stores it again', async () => {
    const setup = createCacheSetup();
    await setup.run(createCall([marked(A), plain('one')]));
    await evictSequences(setup);
    for (const name of await readdir(setup.folder)) await truncate(join(setup.folder, name), 10);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked(A), plain('two')]))), [0, 1_600, true]);
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked(A), plain('three')]))), [1_600, 0, true]);
  });

  it('serves all choices of a request', async () => {
    const setup = createCacheSetup({ sequences: 2 });
    await setup.run(createCall([marked(A), plain('one')]));
    await evictSequences(setup);
    const request = await setup.run(createCall([marked(A), plain('two')], { choices: 2 }));
    assert.deepEqual(getCacheCounts(request), [1_600, 0, true]);
    assert.equal(request.getText(0).length, request.getText(1).length);
  });
});

describe('createScheduler: explicit cache of seeded runs', () => {
  it('evaluates the same slices with a mark as without', async () => {
    const setup = createCacheSetup();
    const slices = async (segments: readonly PromptSegment[]): Promise<number[]> => {
      const from = setup.model.decodes.length;
      await setup.run(createCall(segments, seeded));
      return setup.model.decodes
        .slice(from)
        .flat()
        .map(({ tokens }) => tokens.length);
    };
    const cut = await slices([marked(`${A}12345`), plain('and on')]);
    await evictSequences(setup);
    assert.deepEqual(cut, await slices([plain(`${A}12345and on`)]));
  });

  it('loads only states of seeded runs, which unseeded runs can load too', async () => {
    const setup = createCacheSetup();
    await setup.run(createCall([marked(A), plain('one')]));
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked(A), plain('two')], seeded))), [0, 1_600, true]);
    await evictSequences(setup);
    const again = await setup.run(createCall([marked(A), plain('two')], seeded));
    assert.deepEqual(getCacheCounts(again), [1_600, 0, true]);
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([marked(A), plain('two')]))), [1_600, 0, true]);
    assert.equal((await readdir(setup.folder)).length, 1);
  });

  it('reuses the seeded prefix that an unseeded run continued', async () => {
    const setup = createCacheSetup();
    await setup.run(createCall([marked(A), plain('one')], seeded));
    await evictSequences(setup);
    await setup.run(createCall([plain(A), marked(B), plain('one')]));
    await setup.prefixes.waitForDeletions();
    await evictSequences(setup);
    assert.deepEqual(getCacheCounts(await setup.run(createCall([plain(A), marked(B), plain('two')], seeded))), [
      1_600,
      800,
      true,
    ]);
  });
});
