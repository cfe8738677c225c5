import { PutObjectCommand } from '@aws-sdk/client-s3';
import { S3_GRACE_MS, S3_PART_BYTES, S3_SPOOL_WRITE_BYTES } from './limits.ts';
import type { WrittenBlob, PutBlobOptions } from './blob-store.ts';
import { createDelayedAbort } from './delayed-abort.ts';
import { createPartReader } from './part-reader.ts';
import { deleteObject, uploadParts, sendPart, type S3Upload } from './s3-multipart-upload.ts';
import { createSpool, type SpooledPart } from './spool.ts';

/**
 * Uploads a blob. A source that fits into one part is sent as one object. A longer one is sent in parts, a few at a
 * time while the next one is received. After a failure no object remains, even if the server processed a request
 * without answering it.
 */
export async function uploadBlob(
  source: AsyncIterable<Uint8Array>,
  options: PutBlobOptions,
  upload: S3Upload,
): Promise<WrittenBlob> {
  const reader = createPartReader(source, S3_SPOOL_WRITE_BYTES, options);
  const spool = createSpool(reader, { folder: upload.folder, partBytes: S3_PART_BYTES });
  const { parts } = spool;
  try {
    const first = await parts.next();
    const second = first.done === true ? first : await parts.next();
    if (first.done !== true && second.done !== true) {
      await uploadParts(chain([first.value, second.value], parts), options.signal, upload);
    } else {
      await uploadWhole(first.done === true ? EMPTY_PART : first.value, options.signal, upload);
    }
    return reader.getMetadata();
  } finally {
    await parts.return(undefined);
    await spool.close();
  }
}

const EMPTY_PART: SpooledPart = { read: async () => new Uint8Array(0), close: async () => undefined };

async function* chain<T>(first: readonly T[], rest: AsyncIterator<T>): AsyncGenerator<T> {
  yield* first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

async function uploadWhole(part: SpooledPart, signal: AbortSignal | undefined, upload: S3Upload): Promise<void> {
  const { client, target, mapError } = upload;
  const delayedAbort = createDelayedAbort(signal, S3_GRACE_MS);
  try {
    await sendPart(part, upload, async (Body) => {
      signal?.throwIfAborted();
      await client.send(new PutObjectCommand({ ...target, Body }), { abortSignal: delayedAbort.signal });
    });
    signal?.throwIfAborted();
  } catch (thrown) {
    await deleteObject(upload);
    signal?.throwIfAborted();
    throw mapError('PutObject', thrown);
  } finally {
    delayedAbort.dispose();
  }
}
