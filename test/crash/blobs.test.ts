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
import { openDisk } from '../../src/blobs/disk.ts';

const CHILD = fileURLToPath(new URL('blobs-child.ts', import.meta.url));

const KILLS = 12;

/** The child writes one in a few ms: a kill comes anywhere between two of them. */
const MS_MAX = 60;

const SIZE_BYTES = 20 * 32 * 1024;

describe('blobs on disk and a process that is killed', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-crash-blobs-'));
  });
  after(() => rm(folder, { recursive: true }));

  /** Kills it at a random moment after its first blob. @returns the name and md5 of each blob that it said is there. */
  async function putUntilKilled(prefix: string): Promise<Map<string, string>> {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CHILD, folder, prefix], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const told = new Map<string, string>();
    assert.ok(child.stdout);
    const lines = createInterface(child.stdout);
    lines.on('line', (line) => {
      const [name = '', md5 = ''] = line.split(' ');
      told.set(name, md5);
      if (told.size === 1) setTimeout(() => child.kill('SIGKILL'), Math.random() * MS_MAX);
    });
    await Promise.all([once(child, 'exit'), once(lines, 'close')]);
    assert.ok(told.size > 0, 'the child put nothing');
    return told;
  }

  it('has each blob whole or not, keeps those that were told, and sweeps what is left of the others', async () => {
    let left = 0;
    const told = new Map<string, string>();
    for (let kill = 0; kill < KILLS; kill += 1) {
      for (const [name, md5] of await putUntilKilled(`kill_${kill}`)) told.set(name, md5);
      left = (await readdir(join(folder, 'incoming'))).length;
    }
    const store = await openDisk({ folder });
    const found = new Set<string>();
    for await (const { name } of store.list()) {
      const bytes = await buffer(await store.read(name));
      const number = Number(name.split('-').at(-1)) % 256;
      assert.equal(bytes.length, SIZE_BYTES, name);
      assert.ok(
        bytes.every((byte) => byte === number),
        name,
      );
      const md5 = told.get(name);
      if (md5 !== undefined) assert.equal(createHash('md5').update(bytes).digest('hex'), md5);
      found.add(name);
    }
    for (const name of told.keys()) assert.ok(found.has(name), `${name} is gone`);
    assert.ok(left > 0, 'no kill came in mid-blob');
    assert.equal(await store.sweep(Date.now() + 1_000), left);
    assert.deepEqual(await readdir(join(folder, 'incoming')), []);
    await store.close();
  });
});
