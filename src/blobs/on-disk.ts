import { storageFailure } from '../core/storage-failure.ts';

/** Messages of the system hold paths: they are for our log. @throws ServiceError `overloaded` where the disk is full; `internal`. */
export async function onDisk<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    throw storageFailure(thrown);
  }
}

export const isMissing = (thrown: unknown): boolean => isCode(thrown, 'ENOENT');

export const isCode = (thrown: unknown, code: string): boolean =>
  thrown instanceof Error && 'code' in thrown && thrown.code === code;
