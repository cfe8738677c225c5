import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createPrefixStore, type PrefixStoreOptions } from './prefix-store.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-prefixes-'));
after(() => rmSync(root, { recursive: true }));

const TTL_MS = 1_000;
const OWN_RUN = { workspace: 'mine', isSeeded: false };
const FOREIGN_RUN = { workspace: 'others', isSeeded: false };
const range = (length: number, first = 0): number[] => Array.from({ length }, (_, i) => first + i);

let folders = 0;

/** A store whose files have one byte per token. */
function createSetup(options: Partial<PrefixStoreOptions> = {}) {
  const folder = options.folder ?? join(root, String(++folders));
  const time = { now: 0 };
  const warnings: string[] = [];
  const store = createPrefixStore({
    folder,
    clock: { monotonic: () => time.now },
    ttlMs: TTL_MS,
    workspaceBytesMax: 100,
    workspaceEntriesMax: 10,
    totalBytesMax: 200,
    freeBytesMin: 0,
    warn: (message) => void warnings.push(message),
    ...options,
  });
  const write = (bytes: number) => (file: string) => writeFile(file, 'x'.repeat(bytes), { mode: 0o600 });
  return {
    store,
    folder,
    time,
    warnings,
    save: (tokens: readonly number[], { workspace = 'mine', seededTokens = 0, bytes = tokens.length } = {}) =>
      store.save({ workspace, tokens, seededTokens, fileTokens: tokens.length }, write(bytes)),
    async files(): Promise<number> {
      await store.waitForDeletions();
      return (await readdir(folder)).length;
    },
    findLength: (prompt: readonly number[], run = OWN_RUN) => store.find(prompt, run)?.tokens.length,
  };
}

describe('createPrefixStore: entries', () => {
  it('are found by a prompt that starts with them, the longest first', async () => {
    const { save, findLength, store } = createSetup();
    assert.ok(await save(range(20)));
    assert.ok(await save(range(30)));
    assert.ok(await save([...range(20), 7, 7, 7]));
    assert.equal(findLength(range(50)), 30);
    assert.equal(findLength(range(30)), 30);
    assert.equal(findLength(range(29)), 20);
    assert.equal(findLength(range(19)), undefined);
    assert.equal(findLength(range(50, 1)), undefined);
    assert.equal(store.findExact(range(50), 20, OWN_RUN)?.tokens.length, 20);
    assert.equal(store.findExact(range(50), 21, OWN_RUN), undefined);
  });

  it('are not found by other workspaces', async () => {
    const { save, findLength } = createSetup();
    await save(range(20));
    assert.equal(findLength(range(50), FOREIGN_RUN), undefined);
  });

  it('serve a seeded run as far as a seeded run wrote them', async () => {
    const { save, store } = createSetup();
    await save(range(20));
    await save(range(40, 100), { seededTokens: 16 });
    const seeded = { workspace: 'mine', isSeeded: true };
    assert.equal(store.find(range(50), seeded), undefined);
    assert.equal(store.find(range(50, 100), seeded)?.seededTokens, 16);
    assert.equal(store.findExact(range(50, 100), 40, seeded), undefined);
    await save(range(20), { seededTokens: 20 });
    assert.equal(store.findExact(range(50), 20, seeded)?.tokens.length, 20);
  });

  it('expire unless they are used, which restarts their time', async () => {
    const { save, findLength, store, time, files } = createSetup();
    await save(range(20));
    await save(range(20, 50));
    time.now = TTL_MS - 1;
    const entry = store.find(range(50), OWN_RUN);
    assert.ok(entry);
    store.refresh(entry);
    time.now = TTL_MS;
    assert.equal(findLength(range(50, 50)), undefined);
    assert.equal(findLength(range(50)), 20);
    time.now = 2 * TTL_MS - 1;
    store.removeExpired();
    assert.equal(await files(), 0);
  });

  it('are replaced by an entry with the same tokens', async () => {
    const { save, files } = createSetup();
    await save(range(20));
    await save(range(20), { seededTokens: 16 });
    assert.equal(await files(), 1);
  });

  it('are not found after a drop, and may be dropped twice', async () => {
    const { save, store, findLength, files } = createSetup();
    await save(range(20));
    const entry = store.find(range(50), OWN_RUN);
    assert.ok(entry);
    store.drop(entry);
    store.drop(entry);
    store.refresh(entry);
    assert.equal(findLength(range(50)), undefined);
    assert.equal(await files(), 0);
  });
});

describe('createPrefixStore: limits', () => {
  it('evict the least recently used entries of the same workspace', async () => {
    const { save, findLength, store, time, files } = createSetup();
    await save(range(40, 900), { workspace: 'others' });
    for (const first of [0, 100]) {
      time.now++;
      await save(range(40, first));
    }
    time.now++;
    const oldest = store.find(range(50), OWN_RUN);
    assert.ok(oldest);
    store.refresh(oldest);
    await save(range(40, 200));
    assert.deepEqual(
      [findLength(range(50)), findLength(range(50, 100)), findLength(range(50, 200))],
      [40, undefined, 40],
    );
    assert.equal(findLength(range(50, 900), FOREIGN_RUN), 40);
    assert.equal(await files(), 3);
  });

  it('apply to all workspaces together, and to the number of entries', async () => {
    const { save, findLength, files } = createSetup({ totalBytesMax: 100 });
    for (const [at, workspace] of ['a', 'b', 'c'].entries()) await save(range(40, at * 100), { workspace });
    assert.equal(findLength(range(50), { workspace: 'a', isSeeded: false }), undefined);
    assert.equal(await files(), 2);
    const few = createSetup({ workspaceEntriesMax: 2 });
    for (const first of [0, 10, 20]) await few.save(range(5, first));
    assert.equal(await few.files(), 2);
  });

  it('reject a state that exceeds the whole limit', async () => {
    const { save, findLength, files } = createSetup();
    await save(range(50));
    assert.equal(await save(range(101)), false, 'known from the first');
    assert.equal(findLength(range(50)), 50);
    assert.equal(await save(range(60, 500), { bytes: 101 }), false, 'seen when it was written');
    assert.equal(findLength(range(50)), undefined, 'it was evicted for a state that was expected to fit');
    assert.equal(await files(), 0);
  });

  it('reject states when the disk is full, with a warning', async () => {
    const full = createSetup({ freeBytesMin: 10, getFreeBytes: async () => 9 });
    assert.equal(await full.save(range(5)), false);
    assert.match(full.warnings[0] ?? '', /disk/);
    const failing = createSetup();
    const isSaved = await failing.store.save(
      { workspace: 'mine', tokens: range(5), seededTokens: 0, fileTokens: 5 },
      async (file) => {
        await writeFile(file, 'half');
        throw new Error('no space left');
      },
    );
    assert.equal(isSaved, false);
    assert.match(failing.warnings[0] ?? '', /no space left/);
    assert.equal(await failing.files(), 0);
  });
});

it('createPrefixStore empties its folder at the start and closes it to other users', async () => {
  const folder = join(root, 'left');
  await mkdir(folder);
  await writeFile(join(folder, 'old.state'), 'x');
  const { files } = createSetup({ folder });
  assert.equal(await files(), 0);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
});
