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
import { openDisk } from '../../src/blobs/disk.ts';
import { FILE_LEASE_MS } from '../../src/core/limits.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { sweepExpired, sweepOrphans } from '../../src/resources/files/sweep.ts';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const CHILD = fileURLToPath(new URL('files-child.ts', import.meta.url));
const PLACE = { region: 'cn-beijing', workspace: 'primary' } as const;

const KILLS = 20;

/** The child takes some ms for an upload or a deletion: a kill comes anywhere in one of them. */
const MS_MAX = 120;

const SIZE_BYTES = 10 * 32 * 1024;

describe('files and a process that is killed', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-crash-files-'));
  });
  after(() => rm(folder, { recursive: true }));

  const kept = new Set<string>();
  const deleted = new Set<string>();

  /** Kills it at a random moment after its first word; what it told goes into the two sets. */
  async function workUntilKilled(prefix: string): Promise<void> {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CHILD, folder, prefix], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let isHeard = false;
    assert.ok(child.stdout);
    const lines = createInterface(child.stdout);
    lines.on('line', (line) => {
      const [what = '', ...ids] = line.split(' ');
      for (const id of ids) {
        if (what === 'kept') kept.add(id);
        else kept.delete(id);
        if (what === 'deleted') deleted.add(id);
      }
      if (!isHeard) setTimeout(() => child.kill('SIGKILL'), Math.random() * MS_MAX);
      isHeard = true;
    });
    await Promise.all([once(child, 'exit'), once(lines, 'close')]);
    assert.ok(isHeard, 'the child did nothing');
  }

  it('has what was told, no record without its bytes, and after the sweep no bytes without their record and exact sums', async () => {
    let swept = 0;
    let cutOff = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      await workUntilKilled(`kill_${kill}`);
      const store = await openStore({ dialect: sqliteDialect({ file: join(folder, 'parley.db') }) });
      const blobs = await openDisk({ folder: join(folder, 'blobs') });
      // Before any sweep: whatever can be found can be read.
      const files = await store.files.list(PLACE, { limit: 1e6 });
      for (const { blob, name } of files) {
        const bytes = await buffer(await blobs.read(blob));
        const number = Number(name.split('-')[1]) % 256;
        assert.ok(bytes.length === SIZE_BYTES && bytes.every((byte) => byte === number), name);
      }
      const there = new Set(files.map(({ id }) => id));
      for (const id of kept) assert.ok(there.has(id), `${id} was kept and is gone`);
      for (const id of deleted) assert.ok(!there.has(id), `${id} was deleted and is there`);
      // Both files of an upload, or none; of those that are being deleted the first goes first.
      const uploads = Map.groupBy(files, ({ name }) => name.replace(/-\d$/, ''));
      for (const [name, both] of uploads) assert.ok(both.length === 2 || Number(name.split('-')[1]) % 2 === 1, name);

      const later = { ...systemClock, now: () => Date.now() + FILE_LEASE_MS + 1_000 };
      const incoming = () => readdir(join(folder, 'blobs', 'incoming'));
      cutOff += (await incoming()).length;
      swept += await sweepExpired({ store, blobs, clock: later });
      assert.deepEqual(await incoming(), [], 'what came in goes with its reservation');
      assert.deepEqual(await sweepOrphans({ store, blobs }, Date.now() + 1_000), { orphans: 0, parts: 0 });
      const names = new Set<string>();
      for await (const { name } of blobs.list()) names.add(name);
      assert.deepEqual(names, new Set(files.map(({ blob }) => blob)));
      const total = await store.fileTotals.look(PLACE);
      assert.deepEqual(total, { files: files.length, bytes: files.length * SIZE_BYTES });
      assert.equal(await store.fileTotals.countOf(PLACE), files.length);
      assert.deepEqual(await store.files.reservations(PLACE), []);
      await store.close();
    }
    assert.ok(swept > 0 && cutOff > 0, 'no kill came in the middle of anything');
  });
});
