import type { BlobStore } from '../../blobs/blob-store.ts';
import type { TenantScope } from '../../store/tenant-scope.ts';
import type { FileUsage } from '../../store/file-totals.ts';
import type { Store, Tables, TransactionOptions } from '../../store/store.ts';

/** Blob names of uploads and of batch results. Other prefixes in the blob store are not files. */
export const FILE_BLOB_PREFIX = 'upload_';
export const BATCH_OUTPUT_BLOB_PREFIX = 'results_';

/** Blob names of texts extracted from files; a text is deleted with its file. */
export const TEXT_BLOB_PREFIX = 'text_';
/** Blob names of audio that is being transcribed. */
export const AUDIO_BLOB_PREFIX = 'audio_';

/**
 * Runs a transaction that may change the storage use of a workspace. It locks the total before any file row; the
 * opposite order could deadlock with another transaction.
 */
export const withFileTotalLock = <T>(
  store: Store,
  { region, workspace }: TenantScope,
  work: (tables: Tables, total: FileUsage) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> =>
  store.transaction(async (tables) => work(tables, await tables.fileTotals.lockUsage({ region, workspace })), options);

/** Deletes a file's blobs, then its rows, so that no blob is left without a row. May be repeated after a failure. */
export async function deleteBlobAndRows(
  { store, blobs }: { store: Store; blobs: BlobStore },
  blob: string,
): Promise<void> {
  const text = await store.texts.findTextBlob(blob);
  if (text !== undefined) await blobs.delete(text);
  await blobs.delete(blob);
  await store.texts.remove(blob);
  await store.files.remove(blob);
}
