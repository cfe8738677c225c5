import { randomBytes } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Intake } from './intake.ts';
import { FILE_MODE, openIncoming } from './incoming.ts';
import { onDisk } from './on-disk.ts';

/** A part that waits on the disk for its turn. */
export interface SpooledPart {
  /** Copies it into memory that is large enough. @returns the beginning of that memory which it fills. */
  read(into: Uint8Array): Promise<Uint8Array>;
  /** Gives its disk back; of no effect the second time. */
  close(): Promise<void>;
}

export interface Spool {
  /** All of `partBytes` but the last, which is shorter and is left out where nothing is left. Read once. */
  readonly parts: AsyncGenerator<SpooledPart>;
  /** Closes all parts, also one that is not whole. After the last read of `parts`. */
  close(): Promise<void>;
}

export interface SpoolWish {
  readonly folder: string;
  /** A multiple of what the intake cuts. */
  readonly partBytes: number;
}

/**
 * Gathers parts on the disk. A sender may take a minute for each piece, and a part that is gathered in memory holds it for
 * as long: many such senders would hold all of it. A part is a file without a name, so a killed process leaves none.
 */
export function spoolParts({ parts, release }: Pick<Intake, 'parts' | 'release'>, wish: SpoolWish): Spool {
  const files = new Set<FileHandle>();
  async function* spooled(): AsyncGenerator<SpooledPart> {
    const incoming = await openIncoming(wish.folder);
    let file: FileHandle | undefined;
    let sizeBytes = 0;
    for await (const piece of parts) {
      if (!file) {
        file = await openNameless(incoming);
        files.add(file);
      }
      await onDisk(file.writeFile(piece));
      sizeBytes += piece.byteLength;
      release(piece);
      if (sizeBytes < wish.partBytes) continue;
      yield partOf(file, sizeBytes);
      file = undefined;
      sizeBytes = 0;
    }
    if (file) yield partOf(file, sizeBytes);
  }
  const closeFile = async (file: FileHandle): Promise<void> => {
    if (files.delete(file)) await onDisk(file.close());
  };
  const partOf = (file: FileHandle, sizeBytes: number): SpooledPart => ({
    async read(into) {
      let filled = 0;
      while (filled < sizeBytes) {
        const { bytesRead } = await onDisk(file.read(into, filled, sizeBytes - filled, filled));
        if (bytesRead === 0) throw new Error('a spooled part is shorter than it was');
        filled += bytesRead;
      }
      return into.subarray(0, sizeBytes);
    },
    close: () => closeFile(file),
  });
  return {
    parts: spooled(),
    async close() {
      await Promise.all([...files].map(closeFile));
    },
  };
}

async function openNameless(incoming: string): Promise<FileHandle> {
  const path = join(incoming, `${randomBytes(8).toString('hex')}.spool`);
  const file = await onDisk(open(path, 'wx+', FILE_MODE));
  try {
    await onDisk(rm(path));
    return file;
  } catch (thrown) {
    await file.close();
    throw thrown;
  }
}
