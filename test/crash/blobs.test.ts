import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openDiskBlobStore } from '../../src/blobs/disk-blob-store.ts';

const CHILD = fileURLToPath(new URL('blobs-child.ts', import.meta.url));

const KILLS = 12;

/** Longest time until the kill, in ms. The child writes a blob in a few ms, so a kill may hit any point of a write. */
const KILL_DELAY_MS_MAX = 60;

const SIZE_BYTES = 20 * 32 * 1024;

describe('disk blob store in a process that is killed', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-crash-blobs-'));
  });
  after(() => rm(folder, { recursive: true }));

  /** Kills the child at a random moment after its first blob. Returns the md5 of each blob reported as stored. */
  async function putUntilKilled(prefix: string): Promise<Map<string, string>> {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CHILD, folder, prefix], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const reported = new Map<string, string>();
    assert.ok(child.stdout);
    const lines = createInterface(child.stdout);
    lines.on('line', (line) => {
      const [name = '', md5 = ''] = line.split(' ');
      reported.set(name, md5);
      if (reported.size === 1) setTimeout(() => child.kill('SIGKILL'), Math.random() * KILL_DELAY_MS_MAX);
    });
    await Promise.all([once(child, 'exit'), once(lines, 'close')]);
    assert.ok(reported.size > 0, 'the child stored nothing');
    return reported;
  }

  it('keeps every reported blob, shows no partial blob, and removes interrupted uploads', async () => {
    let leftUploads = 0;
    const reported = new Map<string, string>();
    for (let kill = 0; kill < KILLS; kill += 1) {
      for (const [name, md5] of await putUntilKilled(`kill_${kill}`)) reported.set(name, md5);
      leftUploads = (await readdir(join(folder, 'incoming'))).length;
    }
    const store = await openDiskBlobStore({ folder });
    const found = new Set<string>();
    for await (const { name } of store.list()) {
      const bytes = await buffer(await store.read(name));
      const number = Number(name.split('-').at(-1)) % 256;
      assert.equal(bytes.length, SIZE_BYTES, name);
      assert.ok(
        bytes.every((byte) => byte === number),
        name,
      );
      const md5 = reported.get(name);
      if (md5 !== undefined) assert.equal(createHash('md5').update(bytes).digest('hex'), md5);
      found.add(name);
    }
    for (const name of reported.keys()) assert.ok(found.has(name), `${name} is missing`);
    assert.ok(leftUploads > 0, 'no kill interrupted an upload');
    assert.equal(await store.removeStaleUploads(Date.now() + 1_000), leftUploads);
    assert.deepEqual(await readdir(join(folder, 'incoming')), []);
    await store.close();
  });
});
