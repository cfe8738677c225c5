import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  paginateListObjectsV2,
  type ListMultipartUploadsCommandOutput,
  type MultipartUpload,
} from '@aws-sdk/client-s3';
import { Readable } from 'node:stream';
import { S3_PARTS_IN_MEMORY_MAX } from './limits.ts';
import { checkBlobName, isBlobName } from './blob-name.ts';
import type { UnverifiedBlobStore } from './blob-store.ts';
import { removeStaleIncomingFiles } from './incoming-folder.ts';
import { createSemaphore } from '../lib/semaphore.ts';
import { checkRange, createFileNotFoundError, createRangeError } from './blob-errors.ts';
import { createS3Client, type S3Options } from './s3-client.ts';
import { getS3ErrorCode, mapS3Error } from './map-s3-error.ts';
import { uploadBlob } from './s3-upload.ts';

/**
 * Opens a store in an existing bucket. Sends no request before the first call.
 * @param folder Folder of parts that wait to be sent. Created with the first part.
 */
export function openS3BlobStore(options: S3Options, folder: string): UnverifiedBlobStore {
  const { bucket: Bucket, prefix, credentials } = options;
  const client = createS3Client(options);
  const semaphore = createSemaphore({ permits: S3_PARTS_IN_MEMORY_MAX });
  const freeBuffers: Uint8Array[] = [];
  let activeUploads = 0;
  const mapError = (operation: string, thrown: unknown) => mapS3Error(operation, thrown, credentials);
  const getObjectTarget = (name: string) => {
    checkBlobName(name);
    return { Bucket, Key: `${prefix}${name}` };
  };
  const getBlobName = (key: string | undefined): string | undefined => {
    if (key === undefined || !key.startsWith(prefix)) return undefined;
    const name = key.slice(prefix.length);
    return isBlobName(name) ? name : undefined;
  };

  /**
   * Lists unfinished uploads of the whole bucket, or those whose key starts with `key`. Some servers match the prefix
   * against whole keys only, so a partial key is never passed.
   */
  async function* listUploads(key?: string): AsyncGenerator<MultipartUpload> {
    const query = { Bucket, ...(key === undefined ? {} : { Prefix: key }) };
    let marker: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {};
    while (marker) {
      const page: ListMultipartUploadsCommandOutput = await client
        .send(new ListMultipartUploadsCommand({ ...query, ...marker }))
        .catch((thrown: unknown) => {
          throw mapError('ListMultipartUploads', thrown);
        });
      yield* page.Uploads ?? [];
      const { NextKeyMarker, NextUploadIdMarker } = page;
      marker =
        page.IsTruncated === true && NextKeyMarker !== undefined
          ? {
              KeyMarker: NextKeyMarker,
              ...(NextUploadIdMarker === undefined ? {} : { UploadIdMarker: NextUploadIdMarker }),
            }
          : undefined;
    }
  }

  /** Aborts an upload. @returns false if it has ended meanwhile, by itself or by another process. */
  async function abortMultipartUpload(Key: string, UploadId: string): Promise<boolean> {
    try {
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
      return true;
    } catch (thrown) {
      if (getS3ErrorCode(thrown) === 'NoSuchUpload') return false;
      throw mapError('AbortMultipartUpload', thrown);
    }
  }

  return {
    async put(name, source, options = {}) {
      const target = getObjectTarget(name);
      activeUploads += 1;
      try {
        return await uploadBlob(source, options, {
          client,
          target,
          semaphore,
          freeBuffers,
          folder,
          mapError,
        });
      } finally {
        activeUploads -= 1;
        if (activeUploads === 0) freeBuffers.length = 0;
      }
    },
    async read(name, range) {
      const target = getObjectTarget(name);
      // S3 answers an invalid range with the whole object.
      if (range) checkRange(range, Number.POSITIVE_INFINITY);
      const Range = range && `bytes=${range.start}-${range.end}`;
      try {
        const { Body } = await client.send(
          new GetObjectCommand({ ...target, ...(Range === undefined ? {} : { Range }) }),
        );
        if (!(Body instanceof Readable)) throw new Error('the response has no body');
        return Body;
      } catch (thrown) {
        if (getS3ErrorCode(thrown) === 'NoSuchKey') throw createFileNotFoundError();
        if (getS3ErrorCode(thrown) === 'InvalidRange') throw createRangeError();
        throw mapError('GetObject', thrown);
      }
    },
    async delete(name) {
      const target = getObjectTarget(name);
      try {
        await client.send(new DeleteObjectCommand(target));
      } catch (thrown) {
        if (getS3ErrorCode(thrown) !== 'NoSuchKey') throw mapError('DeleteObject', thrown);
      }
    },
    async abortUpload(name) {
      const { Key } = getObjectTarget(name);
      for await (const each of listUploads(Key)) {
        if (each.Key === Key && each.UploadId !== undefined) await abortMultipartUpload(Key, each.UploadId);
      }
    },
    async *list() {
      try {
        for await (const { Contents } of paginateListObjectsV2({ client }, { Bucket, Prefix: prefix })) {
          for (const { Key, Size, LastModified } of Contents ?? []) {
            const name = getBlobName(Key);
            if (name !== undefined && LastModified)
              yield { name, sizeBytes: Size ?? 0, changedAt: LastModified.getTime() };
          }
        }
      } catch (thrown) {
        throw mapError('ListObjectsV2', thrown);
      }
    },
    async removeStaleUploads(before) {
      let removed = 0;
      for await (const { Key, UploadId, Initiated } of listUploads()) {
        if (Key === undefined || UploadId === undefined || getBlobName(Key) === undefined) continue;
        if (!Initiated || Initiated.getTime() >= before) continue;
        if (await abortMultipartUpload(Key, UploadId)) removed += 1;
      }
      // A part's file is unlinked right after its creation. A file that still has a name was left by a killed process.
      return removed + (await removeStaleIncomingFiles(folder, before));
    },
    close: async () => client.destroy(),
  };
}
