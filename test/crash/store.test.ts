import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const CHILD = fileURLToPath(new URL('store-child.ts', import.meta.url));

/** Resolves when the child has said that its key is in; with what it complained of when it ended instead. */
async function inserted(child: ChildProcess): Promise<void> {
  assert.ok(child.stdout && child.stderr);
  const complaint = text(child.stderr);
  const ended = once(child, 'exit').then(async () => {
    throw new Error(`the child ended early: ${await complaint}`);
  });
  await Promise.race([once(child.stdout, 'data'), ended]);
  ended.catch(() => undefined); // it is killed later on, and that is no complaint
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

describe('the store and its processes', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-crash-'));
  });
  after(() => rm(folder, { recursive: true }));

  const start = (file: string, id: string) =>
    spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CHILD, file, id]);

  it('has an acknowledged key after kill -9', async () => {
    const file = join(folder, 'killed.db');
    const child = start(file, 'key_killed');
    await inserted(child);
    await kill(child);
    const store = await openStore({ dialect: sqliteDialect({ file }) });
    assert.equal((await store.keys.find('key_killed'))?.id, 'key_killed');
    await store.close();
  });

  it('lets processes that start at once on a new file all in, with one schema', async () => {
    const file = join(folder, 'together.db');
    const ids = ['key_a', 'key_b', 'key_c'];
    const children = ids.map((id) => start(file, id));
    try {
      await Promise.all(children.map(inserted));
      const store = await openStore({ dialect: sqliteDialect({ file }) });
      const keys = await store.keys.list({ limit: 10 });
      assert.deepEqual(
        keys.map(({ id }) => id),
        ids,
      );
      await store.close();
    } finally {
      await Promise.all(children.map(kill));
    }
  });
});
