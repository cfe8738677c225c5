import { PutObjectCommand } from '@aws-sdk/client-s3';
import { S3_GRACE_MS, S3_PART_BYTES } from '../core/limits.ts';
import type { BlobFacts, BlobWish } from './blob-store.ts';
import { giveGrace } from './grace.ts';
import { takeIn } from './intake.ts';
import { takeBack, uploadParts } from './s3-parts.ts';
import type { Upload } from './s3-parts.ts';

/**
 * What fits into one part goes as one object; what is longer goes as parts, of which a few are on their way while the next
 * is gathered. Whatever fails, nothing stays under the name: also where the server may have taken in what it did not answer.
 */
export async function upload(source: AsyncIterable<Uint8Array>, wish: BlobWish, to: Upload): Promise<BlobFacts> {
  const intake = takeIn(source, S3_PART_BYTES, wish);
  const { parts } = intake;
  try {
    const first = await parts.next();
    const second = first.done === true ? first : await parts.next();
    if (first.done !== true && second.done !== true) {
      const all = chain([first.value, second.value], parts);
      await uploadParts({ parts: all, release: intake.release }, wish.signal, to);
    } else {
      await uploadWhole(first.done === true ? new Uint8Array(0) : first.value, wish.signal, to);
    }
    return intake.facts();
  } finally {
    await parts.return(undefined);
  }
}

async function* chain(first: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

async function uploadWhole(Body: Uint8Array, signal: AbortSignal | undefined, to: Upload): Promise<void> {
  const { client, target, places, failure } = to;
  const grace = giveGrace(signal, S3_GRACE_MS);
  try {
    await places.within(async () => {
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
