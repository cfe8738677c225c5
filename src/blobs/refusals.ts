import { ServiceError } from '../core/error.ts';
import type { BlobRange } from './blob-store.ts';

export const fileNotFound = (): ServiceError => new ServiceError('file-not-found', 'File not found.');

export const rangeRefused = (): ServiceError =>
  new ServiceError('invalid-request', 'The range lies behind the end of the file.');

/** @throws ServiceError `invalid-request` where no byte of the blob lies in it. */
export function checkRange({ start, end }: BlobRange, sizeBytes: number): void {
  if (start < 0 || end < start || start >= sizeBytes) throw rangeRefused();
}
