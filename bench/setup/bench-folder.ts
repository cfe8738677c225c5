import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the peers' programs are put, outside the repository's files. */
const ROOT = fileURLToPath(new URL('../../.cache/bench/', import.meta.url));

/**
 * A folder with what `make` puts there. It is made once for each `pins`: a text with the versions that were asked for.
 * What a broken-off set-up left is thrown away.
 */
export async function benchFolder(
  name: string,
  pins: string,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = join(ROOT, name);
  const mark = join(folder, 'bench-pins.txt');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === pins) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await make(folder);
  writeFileSync(mark, pins);
  return folder;
}
