import { buffer } from 'node:stream/consumers';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import { ServiceError } from '../../../core/error.ts';
import { BATCH_READ_BYTES } from './limits.ts';

/**
 * Yields the bytes of a blob in pieces. Each piece is read completely and its connection is closed: a batch may take
 * days, and an object store does not keep a connection open that long.
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
    // Checked before the yield: the reader may release the memory of a piece, which empties it.
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
    // The previous piece was the last one and had exactly the piece size.
    if (thrown instanceof ServiceError && thrown.kind === 'invalid-request') return new Uint8Array();
    throw thrown;
  }
}
