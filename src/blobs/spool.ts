import { randomBytes } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { PartReader } from './part-reader.ts';
import { FILE_MODE, openIncomingFolder } from './incoming-folder.ts';
import { mapDiskErrors } from './map-disk-errors.ts';
import { nameFileInError } from '../lib/name-file-in-error.ts';

/** A part on disk that waits to be sent. */
export interface SpooledPart {
  /** Copies the part into `into`, which must be large enough. @returns the used beginning of `into`. */
  read(into: Uint8Array): Promise<Uint8Array>;
  /** Frees the disk space. A second call has no effect. */
  close(): Promise<void>;
}

export interface Spool {
  /** Parts of `partBytes`; the last one may be shorter, and an empty source has none. Can be iterated once. */
  readonly parts: AsyncGenerator<SpooledPart>;
  /** Closes all parts, including an incomplete one. Call it after the last read of `parts`. */
  close(): Promise<void>;
}

export interface SpoolOptions {
  readonly folder: string;
  /** A multiple of the size of the reader's parts. */
  readonly partBytes: number;
}

/**
 * Collects parts on disk. A client may take a minute per piece; parts that were collected in memory would occupy it as
 * long, so that many slow clients would exhaust it. A part is an unlinked file, so a killed process leaves none.
 */
export function createSpool({ pieces, release }: Pick<PartReader, 'pieces' | 'release'>, options: SpoolOptions): Spool {
  const files = new Set<FileHandle>();
  async function* readParts(): AsyncGenerator<SpooledPart> {
    const incoming = await openIncomingFolder(options.folder);
    let file: FileHandle | undefined;
    let sizeBytes = 0;
    for await (const piece of pieces) {
      if (!file) {
        file = await openUnnamedFile(incoming);
        files.add(file);
      }
      await mapDiskErrors(nameFileInError(incoming, file.writeFile(piece)));
      sizeBytes += piece.byteLength;
      release(piece);
      if (sizeBytes < options.partBytes) continue;
      yield createPart(file, sizeBytes);
      file = undefined;
      sizeBytes = 0;
    }
    if (file) yield createPart(file, sizeBytes);
  }
  const closeFile = async (file: FileHandle): Promise<void> => {
    if (files.delete(file)) await mapDiskErrors(file.close());
  };
  const createPart = (file: FileHandle, sizeBytes: number): SpooledPart => ({
    async read(into) {
      let filled = 0;
      while (filled < sizeBytes) {
        const { bytesRead } = await mapDiskErrors(file.read(into, filled, sizeBytes - filled, filled));
        if (bytesRead === 0) throw new Error('a spooled part is shorter than the bytes written to it');
        filled += bytesRead;
      }
      return into.subarray(0, sizeBytes);
    },
    close: () => closeFile(file),
  });
  return {
    parts: readParts(),
    async close() {
      await Promise.all([...files].map(closeFile));
    },
  };
}

async function openUnnamedFile(incoming: string): Promise<FileHandle> {
  const path = join(incoming, `${randomBytes(8).toString('hex')}.spool`);
  const file = await mapDiskErrors(open(path, 'wx+', FILE_MODE));
  try {
    await mapDiskErrors(rm(path));
    return file;
  } catch (thrown) {
    await file.close();
    throw thrown;
  }
}
