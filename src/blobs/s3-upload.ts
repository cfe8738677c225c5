import { PutObjectCommand } from '@aws-sdk/client-s3';
import { S3_GRACE_MS, S3_PART_BYTES } from '../core/limits.ts';
import type { BlobFacts, BlobWish } from './blob-store.ts';
import { giveGrace } from './grace.ts';
import { takeIn } from './intake.ts';
import type { Part } from './intake.ts';
import { takeBack, uploadParts } from './s3-parts.ts';
import type { Upload } from './s3-parts.ts';

/**
 * What fits into one part goes as one object; what is longer goes as parts, of which a few are on their way while the next
 * is gathered. Whatever fails, nothing stays under the name: also where the server may have taken in what it did not answer.
 */
export async function upload(source: AsyncIterable<Uint8Array>, wish: BlobWish, to: Upload): Promise<BlobFacts> {
  const intake = takeIn(source, S3_PART_BYTES, wish);
  const parts = intake.parts[Symbol.asyncIterator]();
  try {
    const first = await parts.next();
    const second = first.done === true ? first : await parts.next();
    if (second.done !== true && first.done !== true) {
      await uploadParts(chain([first.value, second.value], parts), wish.signal, to);
    } else {
      await uploadWhole(first.done === true ? [] : first.value, wish.signal, to);
    }
    return intake.facts();
  } finally {
    await parts.return?.();
  }
}

async function* chain(first: readonly Part[], rest: AsyncIterator<Part>): AsyncGenerator<Part> {
  yield* first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

async function uploadWhole(part: Part, signal: AbortSignal | undefined, to: Upload): Promise<void> {
  const { client, target, places, failure } = to;
  const grace = giveGrace(signal, S3_GRACE_MS);
  try {
    await places.within(async () => {
      signal?.throwIfAborted();
      await client.send(new PutObjectCommand({ ...target, Body: Buffer.concat(part) }), { abortSignal: grace.signal });
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
