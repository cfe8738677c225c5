import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  UploadPartCommand,
  type CompletedPart,
  type S3Client,
} from '@aws-sdk/client-s3';
import { ServiceError } from '../core/error.ts';
import { S3_GRACE_MS, S3_PART_BYTES, S3_PARTS_AHEAD, S3_PARTS_MAX } from './limits.ts';
import { createDelayedAbort } from './delayed-abort.ts';
import type { Semaphore } from '../lib/semaphore.ts';
import type { SpooledPart } from './spool.ts';

export interface S3Upload {
  readonly client: S3Client;
  /** Bucket and key of the object. */
  readonly target: { readonly Bucket: string; readonly Key: string };
  /** Limits the parts in memory and in flight, over all uploads of the store. */
  readonly semaphore: Semaphore;
  /** Buffers of sent parts, for reuse. */
  readonly freeBuffers: Uint8Array[];
  /** Folder of waiting parts. */
  readonly folder: string;
  readonly mapError: (operation: string, thrown: unknown) => ServiceError;
}

/**
 * Loads a part into memory and sends it. The buffer of a failed request is not reused: the client may still read it.
 */
export const sendPart = (
  part: SpooledPart,
  { semaphore, freeBuffers }: S3Upload,
  send: (body: Uint8Array) => Promise<void>,
) =>
  semaphore.run(async () => {
    const buffer = freeBuffers.pop() ?? Buffer.allocUnsafeSlow(S3_PART_BYTES);
    await send(await part.read(buffer));
    freeBuffers.push(buffer);
    await part.close();
  });

/**
 * Uploads an object in parts.
 * @throws errors of `parts`, the signal's reason, or a mapped S3 error. Removes the remains then if the server is
 * reachable.
 */
export async function uploadParts(
  parts: AsyncIterable<SpooledPart>,
  signal: AbortSignal | undefined,
  upload: S3Upload,
): Promise<void> {
  const { client, target, mapError } = upload;
  // Never aborted: if the response were lost, nobody would know the id of the started upload.
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target)).catch((thrown: unknown) => {
    throw mapError('CreateMultipartUpload', thrown);
  });
  if (UploadId === undefined) throw mapError('CreateMultipartUpload', new Error('the response contains no upload id'));
  let isCompleting = false;
  const grace = createDelayedAbort(signal, S3_GRACE_MS);
  try {
    const sent = await sendParts(parts, UploadId, signal, upload);
    signal?.throwIfAborted();
    isCompleting = true;
    const MultipartUpload = { Parts: sent };
    const command = new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload });
    await client.send(command, { abortSignal: grace.signal });
    signal?.throwIfAborted();
  } catch (thrown) {
    // removeStaleUploads removes what cannot be removed now. The first error is the one to report.
    await client.send(new AbortMultipartUploadCommand({ ...target, UploadId })).catch(() => undefined);
    if (!isCompleting) throw thrown;
    await deleteObject(upload);
    signal?.throwIfAborted();
    throw mapError('CompleteMultipartUpload', thrown);
  } finally {
    grace.dispose();
  }
}

/** Deletes the object: a request that failed for the client may have succeeded on the server. */
export async function deleteObject({ client, target }: S3Upload): Promise<void> {
  await client.send(new DeleteObjectCommand(target)).catch(() => undefined);
}

/**
 * Sends the parts. No part is in flight when it settles: a part that arrives after the abort would remain on the
 * server.
 */
async function sendParts(
  parts: AsyncIterable<SpooledPart>,
  UploadId: string,
  signal: AbortSignal | undefined,
  upload: S3Upload,
): Promise<CompletedPart[]> {
  const { client, target, mapError } = upload;
  const sent: CompletedPart[] = [];
  const stop = new AbortController();
  const grace = createDelayedAbort(stop.signal, S3_GRACE_MS);
  let failure: { readonly thrown: unknown } | undefined;
  const send = (part: SpooledPart, PartNumber: number): Promise<void> =>
    sendPart(part, upload, async (Body) => {
      stop.signal.throwIfAborted();
      const command = new UploadPartCommand({ ...target, UploadId, PartNumber, Body });
      const { ETag } = await client.send(command, { abortSignal: grace.signal });
      sent.push({ PartNumber, ...(ETag === undefined ? {} : { ETag }) });
    }).catch((thrown: unknown) => {
      failure ??= { thrown };
    });
  const pending = new Set<Promise<void>>();
  const stopAll = (): void => stop.abort();
  signal?.addEventListener('abort', stopAll, { once: true });
  try {
    let count = 0;
    for await (const part of parts) {
      while (pending.size >= S3_PARTS_AHEAD) await Promise.race(pending);
      if (failure) break;
      count += 1;
      if (count > S3_PARTS_MAX) throw createTooLargeError();
      const sending = send(part, count).finally(() => pending.delete(sending));
      pending.add(sending);
    }
  } catch (thrown) {
    stop.abort();
    throw thrown;
  } finally {
    if (failure) stop.abort();
    await Promise.all(pending);
    signal?.removeEventListener('abort', stopAll);
    grace.dispose();
  }
  signal?.throwIfAborted();
  if (failure) throw mapError('UploadPart', failure.thrown);
  return sent.toSorted((a, b) => (a.PartNumber ?? 0) - (b.PartNumber ?? 0));
}

const createTooLargeError = (): ServiceError =>
  new ServiceError('too-large', `A file may have at most ${S3_PARTS_MAX * S3_PART_BYTES} bytes.`);
