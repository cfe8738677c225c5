import { INTERNAL_MESSAGE, ServiceError } from '../core/error.ts';

const BLOB_NAME = /^[\w-]{1,128}$/;

/** Tells a blob from other files of a folder or objects of a bucket. */
export const isBlobName = (name: string): boolean => BLOB_NAME.test(name);

/** @throws ServiceError `internal` for an invalid name: callers never choose blob names. */
export function checkBlobName(name: string): void {
  if (isBlobName(name)) return;
  throw new ServiceError('internal', INTERNAL_MESSAGE, {
    cause: new Error(`invalid blob name: ${JSON.stringify(name)}`),
  });
}
