import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  paginateListObjectsV2,
} from '@aws-sdk/client-s3';
import type { ListMultipartUploadsCommandOutput, MultipartUpload } from '@aws-sdk/client-s3';
import { Readable } from 'node:stream';
import { S3_PARTS_AT_ONCE } from '../core/limits.ts';
import { checkBlobName, isBlobName } from './blob-name.ts';
import type { BlobStore } from './blob-store.ts';
import { sweepIncoming } from './incoming.ts';
import { createPlaces } from './places.ts';
import { checkRange, fileNotFound, rangeRefused } from './refusals.ts';
import { createS3Client } from './s3-client.ts';
import type { S3Options } from './s3-client.ts';
import { s3Code, s3Failure } from './s3-failure.ts';
import { upload } from './s3-upload.ts';

/**
 * Nothing is asked of the server before the first call. The bucket has to be there.
 * @param folder Where parts wait until they are sent; it is made for the first one.
 */
export function openS3(options: S3Options, folder: string): BlobStore {
  const { bucket: Bucket, prefix, credentials } = options;
  const client = createS3Client(options);
  const places = createPlaces(S3_PARTS_AT_ONCE);
  const rooms: Uint8Array[] = [];
  let uploading = 0;
  const failure = (operation: string, thrown: unknown) => s3Failure(operation, thrown, credentials);
  const targetOf = (name: string) => {
    checkBlobName(name);
    return { Bucket, Key: `${prefix}${name}` };
  };
  const nameOf = (key: string | undefined): string | undefined => {
    if (key === undefined || !key.startsWith(prefix)) return undefined;
    const name = key.slice(prefix.length);
    return isBlobName(name) ? name : undefined;
  };

  /**
   * What began and has not ended, everything in the bucket or what has this key. Some servers take a prefix for a whole
   * key: where it is not one, none is given.
   */
  async function* uploads(key?: string): AsyncGenerator<MultipartUpload> {
    const within = { Bucket, ...(key === undefined ? {} : { Prefix: key }) };
    let from: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {};
    while (from) {
      const page: ListMultipartUploadsCommandOutput = await client
        .send(new ListMultipartUploadsCommand({ ...within, ...from }))
        .catch((thrown: unknown) => {
          throw failure('ListMultipartUploads', thrown);
        });
      yield* page.Uploads ?? [];
      const { NextKeyMarker, NextUploadIdMarker } = page;
      from =
        page.IsTruncated === true && NextKeyMarker !== undefined
          ? {
              KeyMarker: NextKeyMarker,
              ...(NextUploadIdMarker === undefined ? {} : { UploadIdMarker: NextUploadIdMarker }),
            }
          : undefined;
    }
  }

  /** False where it ended meanwhile, by itself or in another process's sweep. */
  async function end(Key: string, UploadId: string): Promise<boolean> {
    try {
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
      return true;
    } catch (thrown) {
      if (s3Code(thrown) === 'NoSuchUpload') return false;
      throw failure('AbortMultipartUpload', thrown);
    }
  }

  return {
    async put(name, source, wish = {}) {
      const target = targetOf(name);
      uploading += 1;
      try {
        return await upload(source, wish, { client, target, places, rooms, folder, failure });
      } finally {
        uploading -= 1;
        if (uploading === 0) rooms.length = 0;
      }
    },
    async read(name, range) {
      const target = targetOf(name);
      // What is no range at all would be answered with the whole.
      if (range) checkRange(range, Number.POSITIVE_INFINITY);
      const Range = range && `bytes=${range.start}-${range.end}`;
      try {
        const { Body } = await client.send(
          new GetObjectCommand({ ...target, ...(Range === undefined ? {} : { Range }) }),
        );
        if (!(Body instanceof Readable)) throw new Error('the answer has no body');
        return Body;
      } catch (thrown) {
        if (s3Code(thrown) === 'NoSuchKey') throw fileNotFound();
        if (s3Code(thrown) === 'InvalidRange') throw rangeRefused();
        throw failure('GetObject', thrown);
      }
    },
    async delete(name) {
      const target = targetOf(name);
      try {
        await client.send(new DeleteObjectCommand(target));
      } catch (thrown) {
        if (s3Code(thrown) !== 'NoSuchKey') throw failure('DeleteObject', thrown);
      }
    },
    async abandon(name) {
      const { Key } = targetOf(name);
      for await (const each of uploads(Key)) {
        if (each.Key === Key && each.UploadId !== undefined) await end(Key, each.UploadId);
      }
    },
    async *list() {
      try {
        for await (const { Contents } of paginateListObjectsV2({ client }, { Bucket, Prefix: prefix })) {
          for (const { Key, LastModified } of Contents ?? []) {
            const name = nameOf(Key);
            if (name !== undefined && LastModified) yield { name, changedAt: LastModified.getTime() };
          }
        }
      } catch (thrown) {
        throw failure('ListObjectsV2', thrown);
      }
    },
    async sweep(before) {
      let swept = 0;
      for await (const { Key, UploadId, Initiated } of uploads()) {
        if (Key === undefined || UploadId === undefined || nameOf(Key) === undefined) continue;
        if (!Initiated || Initiated.getTime() >= before) continue;
        if (await end(Key, UploadId)) swept += 1;
      }
      // Files lose their name as soon as they have one: what has one was made by a process that was killed in between.
      return swept + (await sweepIncoming(folder, before));
    },
    close: async () => client.destroy(),
  };
}
