import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { CompletedPart, S3Client } from '@aws-sdk/client-s3';
import { ServiceError } from '../core/error.ts';
import { S3_GRACE_MS, S3_PART_BYTES, S3_PARTS_AHEAD, S3_PARTS_MAX } from '../core/limits.ts';
import { giveGrace } from './grace.ts';
import type { Places } from './places.ts';
import type { SpooledPart } from './spool.ts';

export interface Upload {
  readonly client: S3Client;
  /** Where it goes. */
  readonly target: { readonly Bucket: string; readonly Key: string };
  /** Of all uploads of the store together: how many parts are on their way, and in memory, at once. */
  readonly places: Places;
  /** Memory of parts that were sent, for the next ones. */
  readonly rooms: Uint8Array[];
  /** Where parts wait. */
  readonly folder: string;
  readonly failure: (operation: string, thrown: unknown) => ServiceError;
}

/** The one place in which bytes of a part are in memory. Memory that a failed request may still hold is not used again. */
export const whileSending = (part: SpooledPart, { places, rooms }: Upload, send: (body: Uint8Array) => Promise<void>) =>
  places.within(async () => {
    const room = rooms.pop() ?? Buffer.allocUnsafeSlow(S3_PART_BYTES);
    await send(await part.read(room));
    rooms.push(room);
    await part.close();
  });

/** @throws what `parts` throws, the signal's reason, or a failure; nothing stays behind then, if the server can be reached. */
export async function uploadParts(
  parts: AsyncIterable<SpooledPart>,
  signal: AbortSignal | undefined,
  to: Upload,
): Promise<void> {
  const { client, target, failure } = to;
  // Never cut off: of an upload that has begun unheard nobody would know the id.
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target)).catch((thrown: unknown) => {
    throw failure('CreateMultipartUpload', thrown);
  });
  if (UploadId === undefined) throw failure('CreateMultipartUpload', new Error('it named no upload'));
  let isCompleting = false;
  const grace = giveGrace(signal, S3_GRACE_MS);
  try {
    const sent = await sendParts(parts, UploadId, signal, to);
    signal?.throwIfAborted();
    isCompleting = true;
    const MultipartUpload = { Parts: sent };
    const command = new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload });
    await client.send(command, { abortSignal: grace.signal });
    signal?.throwIfAborted();
  } catch (thrown) {
    // What cannot be taken back now is for the sweep: the first failure is the one to tell.
    await client.send(new AbortMultipartUploadCommand({ ...target, UploadId })).catch(() => undefined);
    if (!isCompleting) throw thrown;
    await takeBack(to);
    signal?.throwIfAborted();
    throw failure('CompleteMultipartUpload', thrown);
  } finally {
    grace.end();
  }
}

/** A request that failed for us may have been heard. */
export async function takeBack({ client, target }: Upload): Promise<void> {
  await client.send(new DeleteObjectCommand(target)).catch(() => undefined);
}

/** No part is on its way any more when it ends, in whatever way: one that came after the end would stay. */
async function sendParts(
  parts: AsyncIterable<SpooledPart>,
  UploadId: string,
  signal: AbortSignal | undefined,
  to: Upload,
): Promise<CompletedPart[]> {
  const { client, target, failure } = to;
  const sent: CompletedPart[] = [];
  const stop = new AbortController();
  const grace = giveGrace(stop.signal, S3_GRACE_MS);
  let failed: { readonly thrown: unknown } | undefined;
  const send = (part: SpooledPart, PartNumber: number): Promise<void> =>
    whileSending(part, to, async (Body) => {
      stop.signal.throwIfAborted();
      const command = new UploadPartCommand({ ...target, UploadId, PartNumber, Body });
      const { ETag } = await client.send(command, { abortSignal: grace.signal });
      sent.push({ PartNumber, ...(ETag === undefined ? {} : { ETag }) });
    }).catch((thrown: unknown) => {
      failed ??= { thrown };
    });
  const onTheirWay = new Set<Promise<void>>();
  const stopAll = (): void => stop.abort();
  signal?.addEventListener('abort', stopAll, { once: true });
  try {
    let count = 0;
    for await (const part of parts) {
      while (onTheirWay.size >= S3_PARTS_AHEAD) await Promise.race(onTheirWay);
      if (failed) break;
      count += 1;
      if (count > S3_PARTS_MAX) throw tooLarge();
      const one = send(part, count).finally(() => onTheirWay.delete(one));
      onTheirWay.add(one);
    }
  } catch (thrown) {
    stop.abort();
    throw thrown;
  } finally {
    if (failed) stop.abort();
    await Promise.all(onTheirWay);
    signal?.removeEventListener('abort', stopAll);
    grace.end();
  }
  signal?.throwIfAborted();
  if (failed) throw failure('UploadPart', failed.thrown);
  return sent.toSorted((a, b) => (a.PartNumber ?? 0) - (b.PartNumber ?? 0));
}

const tooLarge = (): ServiceError =>
  new ServiceError('too-large', `A file must not be larger than ${S3_PARTS_MAX * S3_PART_BYTES} bytes here.`);
