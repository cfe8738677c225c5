import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createPrefixStore } from './prefix-store.ts';
import type { PrefixStoreOptions } from './prefix-store.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-prefixes-'));
after(() => rmSync(root, { recursive: true }));

const KEEP_MS = 1_000;
const MINE = { workspace: 'mine', isSeeded: false };
const OTHERS = { workspace: 'others', isSeeded: false };
const range = (length: number, first = 0): number[] => Array.from({ length }, (_, i) => first + i);

let folders = 0;

/** A store whose files have a byte for each token. */
function createRoom(options: Partial<PrefixStoreOptions> = {}) {
  const folder = options.folder ?? join(root, String(++folders));
  const time = { now: 0 };
  const warnings: string[] = [];
  const store = createPrefixStore({
    folder,
    clock: { monotonic: () => time.now },
    keepMs: KEEP_MS,
    workspaceBytesMax: 100,
    workspaceEntriesMax: 10,
    totalBytesMax: 200,
    reserveBytes: 0,
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
      store.save({ workspace, tokens, seededTokens, stateTokens: tokens.length }, write(bytes)),
    async files(): Promise<number> {
      await store.settled();
      return (await readdir(folder)).length;
    },
    found: (prompt: readonly number[], run = MINE) => store.find(prompt, run)?.tokens.length,
  };
}

describe('a kept state', () => {
  it('is found by a prompt that begins with it, the longest first', async () => {
    const { save, found, store } = createRoom();
    assert.ok(await save(range(20)));
    assert.ok(await save(range(30)));
    assert.ok(await save([...range(20), 7, 7, 7]));
    assert.equal(found(range(50)), 30);
    assert.equal(found(range(30)), 30);
    assert.equal(found(range(29)), 20);
    assert.equal(found(range(19)), undefined);
    assert.equal(found(range(50, 1)), undefined);
    assert.equal(store.findExact(range(50), 20, MINE)?.tokens.length, 20);
    assert.equal(store.findExact(range(50), 21, MINE), undefined);
  });

  it('is nobody else’s', async () => {
    const { save, found } = createRoom();
    await save(range(20));
    assert.equal(found(range(50), OTHERS), undefined);
  });

  it('serves a seeded run as far as such a run wrote it', async () => {
    const { save, store } = createRoom();
    await save(range(20));
    await save(range(40, 100), { seededTokens: 16 });
    const seeded = { workspace: 'mine', isSeeded: true };
    assert.equal(store.find(range(50), seeded), undefined);
    assert.equal(store.find(range(50, 100), seeded)?.seededTokens, 16);
    assert.equal(store.findExact(range(50, 100), 40, seeded), undefined);
    await save(range(20), { seededTokens: 20 });
    assert.equal(store.findExact(range(50), 20, seeded)?.tokens.length, 20);
  });

  it('is gone when nobody used it for its time, and a use begins it anew', async () => {
    const { save, found, store, time, files } = createRoom();
    await save(range(20));
    await save(range(20, 50));
    time.now = KEEP_MS - 1;
    const entry = store.find(range(50), MINE);
    assert.ok(entry);
    store.refresh(entry);
    time.now = KEEP_MS;
    assert.equal(found(range(50, 50)), undefined);
    assert.equal(found(range(50)), 20);
    time.now = 2 * KEEP_MS - 1;
    store.sweep();
    assert.equal(await files(), 0);
  });

  it('is replaced by another of the same tokens', async () => {
    const { save, files } = createRoom();
    await save(range(20));
    await save(range(20), { seededTokens: 16 });
    assert.equal(await files(), 1);
  });

  it('is not found again once it was dropped, and dropping it twice does nothing', async () => {
    const { save, store, found, files } = createRoom();
    await save(range(20));
    const entry = store.find(range(50), MINE);
    assert.ok(entry);
    store.drop(entry);
    store.drop(entry);
    store.refresh(entry);
    assert.equal(found(range(50)), undefined);
    assert.equal(await files(), 0);
  });
});

describe('room for kept states', () => {
  it('is a workspace’s own: its longest unused goes first', async () => {
    const { save, found, store, time, files } = createRoom();
    await save(range(40, 900), { workspace: 'others' });
    for (const first of [0, 100]) {
      time.now++;
      await save(range(40, first));
    }
    time.now++;
    const oldest = store.find(range(50), MINE);
    assert.ok(oldest);
    store.refresh(oldest);
    await save(range(40, 200));
    assert.deepEqual([found(range(50)), found(range(50, 100)), found(range(50, 200))], [40, undefined, 40]);
    assert.equal(found(range(50, 900), OTHERS), 40);
    assert.equal(await files(), 3);
  });

  it('is bounded over all workspaces, and by number', async () => {
    const { save, found, files } = createRoom({ totalBytesMax: 100 });
    for (const [at, workspace] of ['a', 'b', 'c'].entries()) await save(range(40, at * 100), { workspace });
    assert.equal(found(range(50), { workspace: 'a', isSeeded: false }), undefined);
    assert.equal(await files(), 2);
    const few = createRoom({ workspaceEntriesMax: 2 });
    for (const first of [0, 10, 20]) await few.save(range(5, first));
    assert.equal(await few.files(), 2);
  });

  it('is refused to what is larger than all of it', async () => {
    const { save, found, files } = createRoom();
    await save(range(50));
    assert.equal(await save(range(101)), false, 'known from the first');
    assert.equal(found(range(50)), 50);
    assert.equal(await save(range(60, 500), { bytes: 101 }), false, 'seen when it was written');
    assert.equal(found(range(50)), undefined, 'it had to make room for what was expected to fit');
    assert.equal(await files(), 0);
  });

  it('is not there on a full disk: that is said, and nothing is kept', async () => {
    const full = createRoom({ reserveBytes: 10, freeBytes: async () => 9 });
    assert.equal(await full.save(range(5)), false);
    assert.match(full.warnings[0] ?? '', /disk/);
    const failing = createRoom();
    const isSaved = await failing.store.save(
      { workspace: 'mine', tokens: range(5), seededTokens: 0, stateTokens: 5 },
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

it('the folder of kept states is closed to others and empty at the start', async () => {
  const folder = join(root, 'left');
  await mkdir(folder);
  await writeFile(join(folder, 'old.state'), 'x');
  const { files } = createRoom({ folder });
  assert.equal(await files(), 0);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
});
