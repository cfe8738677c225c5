import type { BlobStore } from '../../blobs/blob-store.ts';
import type { Place } from '../../store/conversations.ts';
import type { FileTotal } from '../../store/file-totals.ts';
import type { Store, Tables } from '../../store/store.ts';

/** What is sent in, and what batches write. Whatever else lies in the blob store is not ours. */
export const FILE_BLOB_PREFIX = 'upload_';
export const RESULTS_BLOB_PREFIX = 'results_';

/** What was read out of a file; it goes with that. */
export const TEXT_BLOB_PREFIX = 'text_';

/**
 * A transaction that may change what a workspace holds. The sum is locked before any row of a file: whoever took the two
 * the other way round could wait for us while we wait for him.
 */
export const withTotal = <T>(
  store: Store,
  { region, workspace }: Place,
  work: (tables: Tables, total: FileTotal) => Promise<T>,
): Promise<T> => store.transaction(async (tables) => work(tables, await tables.fileTotals.lock({ region, workspace })));

/** The last steps of every end. Each may be done again: bytes first, so that none are left without a row. */
export async function finishDelete({ store, blobs }: { store: Store; blobs: BlobStore }, blob: string): Promise<void> {
  const text = await store.texts.textBlobOf(blob);
  if (text !== undefined) await blobs.delete(text);
  await blobs.delete(blob);
  await store.texts.remove(blob);
  await store.files.remove(blob);
}
