import { PutObjectCommand } from '@aws-sdk/client-s3';
import { S3_GRACE_MS, S3_PART_BYTES, S3_SPOOL_WRITE_BYTES } from '../core/limits.ts';
import type { BlobFacts, BlobWish } from './blob-store.ts';
import { giveGrace } from './grace.ts';
import { takeIn } from './intake.ts';
import { takeBack, uploadParts, whileSending } from './s3-parts.ts';
import type { Upload } from './s3-parts.ts';
import { spoolParts } from './spool.ts';
import type { SpooledPart } from './spool.ts';

/**
 * What fits into one part goes as one object; what is longer goes as parts, of which a few are on their way while the next
 * is gathered. Whatever fails, nothing stays under the name: also where the server may have taken in what it did not answer.
 */
export async function upload(source: AsyncIterable<Uint8Array>, wish: BlobWish, to: Upload): Promise<BlobFacts> {
  const intake = takeIn(source, S3_SPOOL_WRITE_BYTES, wish);
  const spool = spoolParts(intake, { folder: to.folder, partBytes: S3_PART_BYTES });
  const { parts } = spool;
  try {
    const first = await parts.next();
    const second = first.done === true ? first : await parts.next();
    if (first.done !== true && second.done !== true) {
      await uploadParts(chain([first.value, second.value], parts), wish.signal, to);
    } else {
      await uploadWhole(first.done === true ? NOTHING : first.value, wish.signal, to);
    }
    return intake.facts();
  } finally {
    await parts.return(undefined);
    await spool.close();
  }
}

const NOTHING: SpooledPart = { read: async () => new Uint8Array(0), close: async () => undefined };

async function* chain<T>(first: readonly T[], rest: AsyncIterator<T>): AsyncGenerator<T> {
  yield* first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

async function uploadWhole(part: SpooledPart, signal: AbortSignal | undefined, to: Upload): Promise<void> {
  const { client, target, failure } = to;
  const grace = giveGrace(signal, S3_GRACE_MS);
  try {
    await whileSending(part, to, async (Body) => {
      signal?.throwIfAborted();
      await client.send(new PutObjectCommand({ ...target, Body }), { abortSignal: grace.signal });
    });
    signal?.throwIfAborted();
  } catch (thrown) {
    await takeBack(to);
    signal?.throwIfAborted();
    throw failure('PutObject', thrown);
  } finally {
    grace.end();
  }
}
