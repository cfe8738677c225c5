import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createSqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const CHILD = fileURLToPath(new URL('store-child.ts', import.meta.url));

/** Resolves when the child has inserted its key. Rejects with the error output of a child that exits instead. */
async function waitForInsert(child: ChildProcess): Promise<void> {
  assert.ok(child.stdout && child.stderr);
  const errorOutput = text(child.stderr);
  const ended = once(child, 'exit').then(async () => {
    throw new Error(`the child exited early: ${await errorOutput}`);
  });
  await Promise.race([once(child.stdout, 'data'), ended]);
  ended.catch(() => undefined); // the test kills the child later
}

async function killChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

describe('store of several processes', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-crash-'));
  });
  after(() => rm(folder, { recursive: true }));

  const startChild = (file: string, id: string) =>
    spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CHILD, file, id]);

  it('keeps an acknowledged key after SIGKILL', async () => {
    const file = join(folder, 'killed.db');
    const child = startChild(file, 'key_killed');
    await waitForInsert(child);
    await killChild(child);
    const store = await openStore({ dialect: createSqliteDialect({ file }) });
    assert.equal((await store.keys.find('key_killed'))?.id, 'key_killed');
    await store.close();
  });

  it('lets several processes open a new file at the same time, and creates one schema', async () => {
    const file = join(folder, 'together.db');
    const ids = ['key_a', 'key_b', 'key_c'];
    const children = ids.map((id) => startChild(file, id));
    try {
      await Promise.all(children.map(waitForInsert));
      const store = await openStore({ dialect: createSqliteDialect({ file }) });
      const keys = await store.keys.list({ limit: 10 });
      assert.deepEqual(
        keys.map(({ id }) => id),
        ids,
      );
      await store.close();
    } finally {
      await Promise.all(children.map(killChild));
    }
  });
});
