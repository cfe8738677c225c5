import { createHash } from 'node:crypto';
import { mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { createDiskFullError } from '../core/storage-error.ts';
import { DISK_KEPT_BYTES_MAX, DISK_KEPT_SHARE, DISK_READ_BYTES, DISK_WRITE_BYTES } from './limits.ts';
import { syncToDisk } from '../lib/durable-file.ts';
import { nameFileInError } from '../lib/name-file-in-error.ts';
import { readDiskSpace } from '../lib/read-disk-space.ts';
import { checkBlobName, isBlobName } from './blob-name.ts';
import type { PutBlobOptions, UnverifiedBlobStore, WrittenBlob } from './blob-store.ts';
import {
  readFileStats,
  listEntryNames,
  FILE_MODE,
  FOLDER_MODE,
  openIncomingFolder,
  removeStaleIncomingFiles,
} from './incoming-folder.ts';
import { createPartReader } from './part-reader.ts';
import { isMissingFile, mapDiskErrors } from './map-disk-errors.ts';
import { checkRange, createFileNotFoundError } from './blob-errors.ts';

/** Suffix of temporary files. The rest of their name is the name of the blob, so that `abortUpload` finds them. */
const TEMPORARY_SUFFIX = '.part';

/** Opens a store in a folder of its own and creates the folder if it is missing. @throws ServiceError `internal`. */
export async function openDiskBlobStore({ folder }: { readonly folder: string }): Promise<UnverifiedBlobStore> {
  const incoming = await openIncomingFolder(folder);
  // The hash spreads blobs over 256 folders. Ids start with a timestamp, so their first characters would not.
  const getBlobFolder = (name: string): string =>
    join(folder, createHash('sha256').update(name).digest('hex').slice(0, 2));
  const getBlobPath = (name: string): string => {
    checkBlobName(name);
    return join(getBlobFolder(name), name);
  };
  const getTemporaryPath = (name: string): string => join(incoming, `${name}${TEMPORARY_SUFFIX}`);

  return {
    async put(name, source, options = {}) {
      const path = getBlobPath(name);
      const temporary = getTemporaryPath(name);
      const file = await mapDiskErrors(open(temporary, 'wx', FILE_MODE));
      try {
        let metadata: WrittenBlob;
        try {
          metadata = await writeParts({ file, path: temporary }, source, options);
          await mapDiskErrors(nameFileInError(temporary, file.sync()));
        } finally {
          await mapDiskErrors(file.close());
        }
        options.signal?.throwIfAborted();
        await mapDiskErrors(publish(temporary, { folder, blobFolder: getBlobFolder(name), path }));
        return metadata;
      } catch (thrown) {
        await mapDiskErrors(rm(temporary, { force: true }));
        throw thrown;
      }
    },
    async read(name, range) {
      const path = getBlobPath(name);
      const file = await open(path, 'r').catch((thrown: unknown) => {
        throw isMissingFile(thrown) ? createFileNotFoundError() : ServiceError.from(thrown);
      });
      try {
        if (range) checkRange(range, (await mapDiskErrors(file.stat())).size);
        return file.createReadStream({ ...range, highWaterMark: DISK_READ_BYTES });
      } catch (thrown) {
        await file.close();
        throw thrown;
      }
    },
    async delete(name) {
      const path = getBlobPath(name);
      await mapDiskErrors(
        rm(path).then(
          () => syncToDisk(getBlobFolder(name)),
          (thrown: unknown) => {
            if (!isMissingFile(thrown)) throw thrown;
          },
        ),
      );
    },
    async abortUpload(name) {
      checkBlobName(name);
      await mapDiskErrors(rm(getTemporaryPath(name), { force: true }));
    },
    async *list() {
      for await (const subfolder of listEntryNames(folder)) {
        for await (const name of listEntryNames(join(folder, subfolder))) {
          const file = isBlobName(name) ? await readFileStats(join(folder, subfolder, name)) : undefined;
          if (file) yield { name, ...file };
        }
      }
    },
    removeStaleUploads: (before) => removeStaleIncomingFiles(folder, before),
    close: async () => undefined,
  };
}

/** Writes the parts to the file. While a part is written, the next one is received and hashed. */
async function writeParts(
  { file, path }: { readonly file: FileHandle; readonly path: string },
  source: AsyncIterable<Uint8Array>,
  options: PutBlobOptions,
): Promise<WrittenBlob> {
  const reader = createPartReader(source, DISK_WRITE_BYTES, options);
  let writing: Promise<void> | undefined;
  try {
    for await (const part of reader.pieces) {
      await writing;
      writing = mapDiskErrors(writePart(file, path, part)).then(() => reader.release(part));
      writing.catch(() => undefined); // the next `await` reports it
    }
  } finally {
    // The caller closes the file next, so no write may be pending.
    await Promise.allSettled([writing]);
  }
  await writing;
  return reader.getMetadata();
}

/** Writes to the disk as long as enough of it stays free for the database, which may be on the same one. */
async function writePart(file: FileHandle, path: string, part: Uint8Array): Promise<void> {
  const { totalBytes, freeBytes } = await readDiskSpace(dirname(path));
  const keptBytes = Math.min(DISK_KEPT_BYTES_MAX, Math.floor(totalBytes * DISK_KEPT_SHARE));
  if (freeBytes - part.byteLength < keptBytes)
    throw createDiskFullError(
      new Error(`ENOSPC: ${freeBytes} bytes are free, of which uploads leave ${keptBytes}, write '${path}'`),
    );
  await nameFileInError(path, file.writeFile(part));
}

interface PublishPaths {
  readonly folder: string;
  readonly blobFolder: string;
  readonly path: string;
}

/** Moves the temporary file to its final path. If a later step fails, the blob is removed again. */
async function publish(temporary: string, { folder, blobFolder, path }: PublishPaths): Promise<void> {
  const createdFolder = await mkdir(blobFolder, { recursive: true, mode: FOLDER_MODE });
  if (createdFolder !== undefined) await syncToDisk(folder);
  await rename(temporary, path);
  try {
    await syncToDisk(blobFolder);
  } catch (thrown) {
    await rm(path, { force: true });
    throw thrown;
  }
}
