import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { ServiceError } from '../../core/error.ts';
import { reasonOf } from '../hub-connection.ts';
import type { PinnedPackage } from './speech-runtime.ts';
import { readTar } from './read-tar.ts';

/** Whatever its packer calls it, the first folder of an archive is the package. */
const insidePackage = (path: string): string => path.split('/').slice(1).join('/');

/**
 * Unpacks what is kept of a package into a folder, file by file.
 * @throws ServiceError `upstream-failed` for an archive that is damaged or has nothing of what is kept.
 */
export async function unpackArchive(
  archive: string,
  folder: string,
  { keeps }: Pick<PinnedPackage, 'keeps'>,
  signal: AbortSignal,
): Promise<void> {
  const missing = new Set(keeps);
  for await (const { path, body } of readTar(unzipped(archive, signal))) {
    const inside = insidePackage(path);
    const kept = keeps.find((each) => (each.endsWith('/') ? inside.startsWith(each) : inside === each));
    if (kept === undefined || inside.endsWith('.map')) continue;
    missing.delete(kept);
    const target = join(folder, inside);
    await mkdir(dirname(target), { recursive: true });
    const handle = await open(target, 'wx', 0o644);
    try {
      for await (const chunk of body) await handle.writeFile(chunk);
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
  signal.throwIfAborted();
  if (missing.size > 0) throw new ServiceError('upstream-failed', `The archive has no ${[...missing].join(', ')}.`);
}

async function* unzipped(archive: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const file = createReadStream(archive, { highWaterMark: 1 << 20, signal });
  const gunzip = createGunzip();
  file.on('error', (error) => gunzip.destroy(error)).pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk;
  } catch (thrown) {
    signal.throwIfAborted();
    throw new ServiceError('upstream-failed', `The archive cannot be unzipped: ${reasonOf(thrown)}.`, {
      cause: thrown,
    });
  } finally {
    file.destroy();
    gunzip.destroy();
  }
}
