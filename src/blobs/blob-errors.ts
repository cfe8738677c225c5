import { ServiceError } from '../core/error.ts';
import type { BlobRange } from './blob-store.ts';

export const createFileNotFoundError = (): ServiceError => new ServiceError('file-not-found', 'File not found.');

/** The store has no file names, so callers that know one add it. */
export const createBlobDamagedError = (): ServiceError =>
  new ServiceError(
    'file-damaged',
    'The stored bytes of the file are damaged or lost. Upload the file again, or ask the operator to restore a backup.',
  );

export const createRangeError = (): ServiceError =>
  new ServiceError('invalid-request', 'The range starts after the end of the file.');

/** @throws ServiceError `invalid-request` if the range contains no byte of the blob. */
export function checkRange({ start, end }: BlobRange, sizeBytes: number): void {
  if (start < 0 || end < start || start >= sizeBytes) throw createRangeError();
}
