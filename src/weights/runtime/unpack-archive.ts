import { createReadStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { ServiceError } from '../../core/error.ts';
import { describeFetchError } from '../request-hub-file.ts';
import type { PinnedPackage } from './speech-runtime.ts';
import { readTar } from './read-tar.ts';
import { nameFileInError } from '../../lib/name-file-in-error.ts';

/** Removes the first folder of a path: in npm archives it contains the package, whatever its name. */
const toPackagePath = (path: string): string => path.split('/').slice(1).join('/');

/**
 * Unpacks the included files of a package into a folder, one after the other.
 * @throws ServiceError `upstream-failed` when the archive is damaged or lacks an included path.
 */
export async function unpackArchive(
  archive: string,
  folder: string,
  { includedPaths }: Pick<PinnedPackage, 'includedPaths'>,
  signal: AbortSignal,
): Promise<void> {
  const missing = new Set(includedPaths);
  for await (const { path, body } of readTar(unzipArchive(archive, signal))) {
    const packagePath = toPackagePath(path);
    const includedPath = includedPaths.find((each) =>
      each.endsWith('/') ? packagePath.startsWith(each) : packagePath === each,
    );
    if (includedPath === undefined || packagePath.endsWith('.map')) continue;
    missing.delete(includedPath);
    const target = join(folder, packagePath);
    await mkdir(dirname(target), { recursive: true });
    const handle = await open(target, 'wx', 0o644);
    try {
      for await (const chunk of body) await nameFileInError(target, handle.writeFile(chunk));
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
  signal.throwIfAborted();
  if (missing.size > 0) throw new ServiceError('upstream-failed', `The archive lacks ${[...missing].join(', ')}.`);
}

async function* unzipArchive(archive: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const file = createReadStream(archive, { highWaterMark: 1 << 20, signal });
  const gunzip = createGunzip();
  file.on('error', (error) => gunzip.destroy(error)).pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk;
  } catch (thrown) {
    signal.throwIfAborted();
    throw new ServiceError('upstream-failed', `Cannot decompress the archive: ${describeFetchError(thrown)}.`, {
      cause: thrown,
    });
  } finally {
    file.destroy();
    gunzip.destroy();
  }
}
