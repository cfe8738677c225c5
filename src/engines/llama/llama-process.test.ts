import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createLlamaProcess } from './llama-process.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-engine-'));
after(() => rmSync(root, { recursive: true }));

/** Creates an engine without starting its process. */
const open = (runFolder: string) =>
  createLlamaProcess(
    {
      name: 'none',
      modelFile: 'none',
      contextTokens: 10,
      sequences: 1,
      threads: 1,
      gpu: false,
      workspaceShare: 0.5,
      queueLengthMax: 1,
      queueWaitMsMax: 1,
      runFolder,
    },
    { info: () => undefined, warn: () => undefined },
  );

describe('createLlamaProcess: folder', () => {
  it('is closed to other users, lies in the run folder however long its path, and is removed on stop', async () => {
    for (const runFolder of [join(root, 'run'), join(root, 'long'.repeat(30), 'run')]) {
      const engine = await open(runFolder);
      const [name = ''] = readdirSync(runFolder);
      assert.equal(statSync(join(runFolder, name)).mode & 0o777, 0o700);
      await engine.stop();
      assert.deepEqual(readdirSync(runFolder), []);
    }
  });

  it('is removed if its process was killed, also if the pid is reused; folders of live processes stay', async () => {
    const runFolder = join(root, 'swept');
    const dead = ['2147483646-abc-1', `${process.pid}-abc-1`];
    for (const name of [...dead, '1-abc-1', 'something else']) {
      mkdirSync(join(runFolder, name), { recursive: true });
      writeFileSync(join(runFolder, name, 'file'), 'x');
    }
    const [first, second] = [await open(runFolder), await open(runFolder)];
    for (const name of dead) assert.ok(!existsSync(join(runFolder, name)), name);
    assert.equal(readdirSync(runFolder).length, 4);
    await first.stop();
    await second.stop();
    assert.deepEqual(readdirSync(runFolder).toSorted(), ['1-abc-1', 'something else']);
  });
});
