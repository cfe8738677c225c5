import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openDiskBlobStore } from '../../src/blobs/disk-blob-store.ts';
import { FILE_LEASE_MS } from '../../src/resources/limits.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { removeExpiredReservations, removeOrphanedBlobs } from '../../src/resources/files/garbage-collection.ts';
import { scaleKills } from '../scale-kills.ts';
import { createSqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const CHILD = fileURLToPath(new URL('files-child.ts', import.meta.url));
const SCOPE = { region: 'cn-beijing', workspace: 'primary' } as const;

const KILLS_MAX = 20;
const KILLS_MIN = scaleKills(KILLS_MAX);

/** Longest time until the kill, in ms. An upload or deletion takes some ms, so a kill may hit any point of it. */
const KILL_DELAY_MS_MAX = 120;

const SIZE_BYTES = 10 * 32 * 1024;

describe('files of a process that is killed', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-crash-files-'));
  });
  after(() => rm(folder, { recursive: true }));

  const stored = new Set<string>();
  const deleted = new Set<string>();

  /** Kills the child at a random moment after its first line. Collects the reported files in the two sets. */
  async function workUntilKilled(prefix: string): Promise<void> {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CHILD, folder, prefix], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let hasOutput = false;
    assert.ok(child.stdout);
    const lines = createInterface(child.stdout);
    lines.on('line', (line) => {
      const [event = '', ...ids] = line.split(' ');
      for (const id of ids) {
        if (event === 'stored') stored.add(id);
        else stored.delete(id);
        if (event === 'deleted') deleted.add(id);
      }
      if (!hasOutput) setTimeout(() => child.kill('SIGKILL'), Math.random() * KILL_DELAY_MS_MAX);
      hasOutput = true;
    });
    await Promise.all([once(child, 'exit'), once(lines, 'close')]);
    assert.ok(hasOutput, 'the child printed nothing');
  }

  it('keeps reported changes, has no record without bytes, and after garbage collection no bytes without a record and exact totals', async () => {
    let removedReservations = 0;
    let interruptedUploads = 0;
    const isComplete = (kills: number): boolean =>
      kills >= KILLS_MIN && removedReservations > 0 && interruptedUploads > 0;
    for (let kill = 0; kill < KILLS_MAX && !isComplete(kill); kill += 1) {
      await workUntilKilled(`kill_${kill}`);
      const store = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
      const blobs = await openDiskBlobStore({ folder: join(folder, 'blobs') });
      // Before garbage collection: every listed file can be read.
      const files = await store.files.list(SCOPE, { limit: 1e6 });
      for (const { blob, name } of files) {
        const bytes = await buffer(await blobs.read(blob));
        const number = Number(name.split('-')[1]) % 256;
        assert.ok(bytes.length === SIZE_BYTES && bytes.every((byte) => byte === number), name);
      }
      const foundIds = new Set(files.map(({ id }) => id));
      for (const id of stored) assert.ok(foundIds.has(id), `${id} was stored and is missing`);
      for (const id of deleted) assert.ok(!foundIds.has(id), `${id} was deleted and is still listed`);
      // An upload has both files or none. During a deletion, the first file is deleted first.
      const uploads = Map.groupBy(files, ({ name }) => name.replace(/-\d$/, ''));
      for (const [name, both] of uploads) assert.ok(both.length === 2 || Number(name.split('-')[1]) % 2 === 1, name);

      const later = { ...systemClock, now: () => Date.now() + FILE_LEASE_MS + 1_000 };
      const incoming = () => readdir(join(folder, 'blobs', 'incoming'));
      interruptedUploads += (await incoming()).length;
      removedReservations += await removeExpiredReservations({ store, blobs, clock: later });
      assert.deepEqual(await incoming(), [], 'partial uploads are removed with their reservations');
      assert.deepEqual(await removeOrphanedBlobs({ store, blobs }, Date.now() + 1_000), { orphans: 0, parts: 0 });
      const names = new Set<string>();
      for await (const { name } of blobs.list()) names.add(name);
      assert.deepEqual(names, new Set(files.map(({ blob }) => blob)));
      const total = await store.fileTotals.getUsage(SCOPE);
      assert.deepEqual(total, { files: files.length, bytes: files.length * SIZE_BYTES });
      assert.equal(await store.fileTotals.countActive(SCOPE), files.length);
      assert.deepEqual(await store.files.listReservations(SCOPE), []);
      await store.close();
    }
    assert.ok(removedReservations > 0 && interruptedUploads > 0, 'no kill interrupted an upload');
  });
});
