import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { DISK_READ_BYTES, DISK_WRITE_BYTES } from '../core/limits.ts';
import { syncFolder } from '../lib/durable-file.ts';
import { checkBlobName, isBlobName } from './blob-name.ts';
import type { BlobFacts, BlobStore, BlobWish } from './blob-store.ts';
import { checkRange, fileNotFound } from './refusals.ts';
import { takeIn } from './intake.ts';

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** Beside the folders of blobs, so on the same volume. What is in it has a dot in its name, which no blob has. */
const INCOMING = 'incoming';

/** A temporary file is its blob's name and this: whoever knows the one can remove the other. */
const SUFFIX = '.part';

/** A folder that belongs to us alone; it is made where it is not there. @throws ServiceError `internal`. */
export async function openDisk({ folder }: { readonly folder: string }): Promise<BlobStore> {
  const incoming = join(folder, INCOMING);
  await onDisk(mkdir(incoming, { recursive: true, mode: FOLDER_MODE }));
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
    async sweep(before) {
      let swept = 0;
      for await (const name of entriesOf(incoming)) {
        const path = join(incoming, name);
        const changedAt = await changeOf(path);
        if (changedAt === undefined || changedAt >= before) continue;
        await onDisk(rm(path, { force: true }));
        swept += 1;
      }
      return swept;
    },
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

async function* entriesOf(folder: string): AsyncGenerator<string> {
  const entries = await opendir(folder).catch((thrown: unknown) => {
    if (isMissing(thrown) || isCode(thrown, 'ENOTDIR')) return undefined;
    throw ServiceError.from(thrown);
  });
  if (!entries) return;
  for await (const { name } of entries) yield name;
}

/** Undefined where it has gone meanwhile. */
async function changeOf(path: string): Promise<number | undefined> {
  try {
    return Math.trunc((await stat(path)).mtimeMs);
  } catch (thrown) {
    if (isMissing(thrown)) return undefined;
    throw ServiceError.from(thrown);
  }
}

/** Messages of the system hold paths: they are for our log. */
async function onDisk<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    throw ServiceError.from(thrown);
  }
}

const isMissing = (thrown: unknown): boolean => isCode(thrown, 'ENOENT');

const isCode = (thrown: unknown, code: string): boolean =>
  thrown instanceof Error && 'code' in thrown && thrown.code === code;
