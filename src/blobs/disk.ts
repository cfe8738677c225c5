import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { DISK_READ_BYTES, DISK_WRITE_BYTES } from '../core/limits.ts';
import { syncFolder } from '../lib/durable-file.ts';
import { checkBlobName, isBlobName } from './blob-name.ts';
import type { BlobFacts, BlobStore, BlobWish } from './blob-store.ts';
import { changeOf, entriesOf, FILE_MODE, FOLDER_MODE, openIncoming, sweepIncoming } from './incoming.ts';
import { takeIn } from './intake.ts';
import { isMissing, onDisk } from './on-disk.ts';
import { checkRange, fileNotFound } from './refusals.ts';

/** A temporary file is its blob's name and this: whoever knows the one can remove the other. */
const SUFFIX = '.part';

/** A folder that belongs to us alone; it is made where it is not there. @throws ServiceError `internal`. */
export async function openDisk({ folder }: { readonly folder: string }): Promise<BlobStore> {
  const incoming = await openIncoming(folder);
  // Ids begin with the time: by their own characters, all blobs of a month would lie in one folder.
  const folderOf = (name: string): string => join(folder, createHash('sha256').update(name).digest('hex').slice(0, 2));
  const pathOf = (name: string): string => {
    checkBlobName(name);
    return join(folderOf(name), name);
  };
  const temporaryOf = (name: string): string => join(incoming, `${name}${SUFFIX}`);

  return {
    async put(name, source, wish = {}) {
      const path = pathOf(name);
      const temporary = temporaryOf(name);
      const file = await onDisk(open(temporary, 'wx', FILE_MODE));
      try {
        let facts: BlobFacts;
        try {
          facts = await write(file, source, wish);
          await onDisk(file.sync());
        } finally {
          await onDisk(file.close());
        }
        wish.signal?.throwIfAborted();
        await onDisk(publish(temporary, { folder, target: folderOf(name), path }));
        return facts;
      } catch (thrown) {
        await onDisk(rm(temporary, { force: true }));
        throw thrown;
      }
    },
    async read(name, range) {
      const path = pathOf(name);
      const file = await open(path, 'r').catch((thrown: unknown) => {
        throw isMissing(thrown) ? fileNotFound() : ServiceError.from(thrown);
      });
      try {
        if (range) checkRange(range, (await onDisk(file.stat())).size);
        return file.createReadStream({ ...range, highWaterMark: DISK_READ_BYTES });
      } catch (thrown) {
        await file.close();
        throw thrown;
      }
    },
    async delete(name) {
      const path = pathOf(name);
      await onDisk(
        rm(path).then(
          () => syncFolder(folderOf(name)),
          (thrown: unknown) => {
            if (!isMissing(thrown)) throw thrown;
          },
        ),
      );
    },
    async abandon(name) {
      checkBlobName(name);
      await onDisk(rm(temporaryOf(name), { force: true }));
    },
    async *list() {
      for await (const fan of entriesOf(folder)) {
        for await (const name of entriesOf(join(folder, fan))) {
          const changedAt = isBlobName(name) ? await changeOf(join(folder, fan, name)) : undefined;
          if (changedAt !== undefined) yield { name, changedAt };
        }
      }
    },
    sweep: (before) => sweepIncoming(folder, before),
    close: async () => undefined,
  };
}

/** While one part is being written the next one comes in and is hashed. */
async function write(file: FileHandle, source: AsyncIterable<Uint8Array>, wish: BlobWish): Promise<BlobFacts> {
  const intake = takeIn(source, DISK_WRITE_BYTES, wish);
  let writing: Promise<void> | undefined;
  try {
    for await (const part of intake.parts) {
      await writing;
      writing = onDisk(file.writeFile(part)).then(() => intake.release(part));
      writing.catch(() => undefined); // heard of at the next await
    }
  } finally {
    // The file is closed next, in whatever way this ends.
    await Promise.allSettled([writing]);
  }
  await writing;
  return intake.facts();
}

interface Places {
  readonly folder: string;
  readonly target: string;
  readonly path: string;
}

/** From the rename on the blob is there; what fails afterwards takes it back. */
async function publish(temporary: string, { folder, target, path }: Places): Promise<void> {
  const made = await mkdir(target, { recursive: true, mode: FOLDER_MODE });
  if (made !== undefined) await syncFolder(folder);
  await rename(temporary, path);
  try {
    await syncFolder(target);
  } catch (thrown) {
    await rm(path, { force: true });
    throw thrown;
  }
}
