import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { watchPartsProgress } from './parts-progress.ts';

test('measures again when a measurement is running, which may miss the last part', async (t) => {
  const partsFolder = await createTemporaryFolder(t);
  const reported: unknown[] = [];
  const watch = watchPartsProgress({
    partsFolder,
    totalBytes: 4,
    meter: { update: (progress) => reported.push(progress) },
  });
  try {
    writeFileSync(join(partsFolder, '0'), 'ab');
    const running = watch.poll();
    writeFileSync(join(partsFolder, '1'), 'cd');
    await watch.poll();
    assert.deepEqual(reported.at(-1), { doneBytes: 4, totalBytes: 4, donePart: 2 });
    await running;
  } finally {
    watch.stop();
  }
});
