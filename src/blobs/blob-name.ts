import { INTERNAL_MESSAGE, ServiceError } from '../core/error.ts';

const BLOB_NAME = /^[\w-]{1,128}$/;

/** What else lies in a folder or a bucket is not ours. */
export const isBlobName = (name: string): boolean => BLOB_NAME.test(name);

/** @throws ServiceError `internal`: a name that a caller chose must not come as far as here. */
export function checkBlobName(name: string): void {
  if (isBlobName(name)) return;
  throw new ServiceError('internal', INTERNAL_MESSAGE, {
    cause: new Error(`no name of a blob: ${JSON.stringify(name)}`),
  });
}
