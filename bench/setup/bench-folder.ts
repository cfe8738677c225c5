import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Root of the peers' programs, in a folder that Git ignores. */
const ROOT = fileURLToPath(new URL('../../.cache/bench/', import.meta.url));

/**
 * Returns a folder that `setUp` has filled. Runs `setUp` once per value of `pins`, a text with the requested versions.
 * Removes what an interrupted set-up left behind.
 */
export async function prepareBenchFolder(
  name: string,
  pins: string,
  setUp: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(ROOT, name);
  const pinsFile = join(folder, 'bench-pins.txt');
  if (existsSync(pinsFile) && readFileSync(pinsFile, 'utf8') === pins) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await setUp(folder);
  writeFileSync(pinsFile, pins);
  return folder;
}
