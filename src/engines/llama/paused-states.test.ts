import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createPausedStates, type PausedState, type PausedStatesOptions } from './paused-states.ts';
import type { Slot } from './slot-pool.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-paused-'));
after(() => rmSync(root, { recursive: true }));

let folders = 0;

/** States have 100 bytes, and 10 more for each token. */
function createSetup(options: Partial<PausedStatesOptions> = {}) {
  const folder = join(root, String(++folders));
  const written: number[] = [];
  const states = createPausedStates({
    model: {
      async saveState(_sequence, tokens, file) {
        written.push(tokens.length);
        await writeFile(file, 'x'.repeat(100 + 10 * tokens.length));
      },
    },
    cells: { load: async () => undefined },
    folder,
    bytesMax: 1_000,
    freeBytesMin: 50,
    getFreeBytes: async () => 10_000,
    ...options,
  });
  return {
    written,
    states,
    countFiles: async () => (await readdir(folder)).length,
    save: (tokens: number): Promise<PausedState | undefined> => states.save(createSlot(tokens)),
  };
}

const createSlot = (tokens: number): Slot => ({
  sequence: 0,
  tokens: Array.from({ length: tokens }, (_, i) => i),
  workspace: 'w',
  seededTokens: 0,
  isBusy: false,
  usedAt: 0,
});

describe('createPausedStates', () => {
  it('saves no state that would exceed the bytes of all, and writes none that is expected to', async () => {
    const { save, states, written, countFiles } = createSetup();
    assert.equal(await save(91), undefined, 'its size is known only when it is written');
    assert.equal(await countFiles(), 0);
    const small = await save(10);
    assert.equal(small?.bytes, 200);
    assert.equal(await save(71), undefined);
    assert.deepEqual(written, [91, 10], 'the size of the third was known');
    assert.equal((await save(70))?.bytes, 800);
    states.drop(small);
    assert.equal((await save(10))?.bytes, 200);
  });

  it('expects states of models whose states have a large fixed part to be as large as they are', async () => {
    const { save } = createSetup({ bytesMax: 700 });
    assert.equal((await save(1))?.bytes, 110);
    assert.equal((await save(10))?.bytes, 200);
    assert.equal((await save(29))?.bytes, 390);
  });

  it('leaves the stated bytes of the disk free', async () => {
    let free = 49;
    const { save, written } = createSetup({ getFreeBytes: async () => free });
    assert.equal(await save(10), undefined);
    free = 50;
    assert.equal((await save(10))?.bytes, 200, 'the size of the first is not known');
    free = 249;
    assert.equal(await save(10), undefined);
    free = 250;
    assert.equal((await save(10))?.bytes, 200);
    assert.deepEqual(written, [10, 10]);
  });

  it('saves nothing when writing fails, or the free bytes are not known', async () => {
    const fail = async (): Promise<never> => {
      throw new Error('no space left');
    };
    for (const options of [{ model: { saveState: fail } }, { getFreeBytes: fail }]) {
      const { save, countFiles } = createSetup(options);
      assert.equal(await save(1), undefined);
      assert.equal(await countFiles(), 0);
    }
  });
});
