import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** Creates an empty folder that is deleted after the test. */
export async function createTemporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-weights-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
