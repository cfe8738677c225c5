import { mapStorageError } from '../core/storage-error.ts';
import { getErrorCode } from '../lib/error-code.ts';

/**
 * Awaits a file operation and maps its error. Messages of the operating system contain paths, so only the log gets
 * them.
 * @throws ServiceError `overloaded` if the disk is full; `internal`.
 */
export async function mapDiskErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    throw mapStorageError(thrown);
  }
}

export const isMissingFile = (thrown: unknown): boolean => hasErrorCode(thrown, 'ENOENT');

export const hasErrorCode = (thrown: unknown, code: string): boolean => getErrorCode(thrown) === code;
