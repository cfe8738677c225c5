import { buffer } from 'node:stream/consumers';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import { ServiceError } from '../../../core/error.ts';
import { BATCH_READ_BYTES } from '../../../core/limits.ts';

/**
 * All bytes of a blob, a piece at a time. Each is read at once and the connection let go of: whoever reads may take days,
 * and an object store does not wait for that.
 *
 * @throws ServiceError `file-not-found`.
 */
export async function* readInput(
  blobs: Pick<BlobStore, 'read'>,
  name: string,
  pieceBytes = BATCH_READ_BYTES,
): AsyncGenerator<Uint8Array> {
  for (let start = 0; ; start += pieceBytes) {
    const piece = await readPiece(blobs, name, { start, end: start + pieceBytes - 1 });
    // Whoever reads may give the memory of a piece back: it is empty then.
    const isLast = piece.length < pieceBytes;
    if (piece.length > 0) yield piece;
    if (isLast) return;
  }
}

async function readPiece(
  blobs: Pick<BlobStore, 'read'>,
  name: string,
  range: { readonly start: number; readonly end: number },
): Promise<Uint8Array> {
  try {
    return await buffer(await blobs.read(name, range));
  } catch (thrown) {
    // The piece before was the last, and just as long as a piece is.
    if (thrown instanceof ServiceError && thrown.kind === 'invalid-request') return new Uint8Array();
    throw thrown;
  }
}
