import type { StoredBlobHashes } from '../blob-hashes.ts';
import type { ReferencedBlob } from '../referenced-blobs.ts';

/** Content of a copy of the database, read from the copy. */
export interface SnapshotContent {
  /** Names of the migrations of the database, in order. */
  readonly migrations: readonly string[];
  readonly blobs: readonly ReferencedBlob[];
}

export interface SnapshotOptions {
  readonly onProgress?: ((progress: { readonly doneBytes: number; readonly totalBytes: number }) => void) | undefined;
  /** Checked between steps. */
  readonly signal?: AbortSignal | undefined;
}

/** Block hashes of blobs, read from a copy of the database. */
export interface SnapshotHashes {
  /** Returns undefined for a blob without hashes: an older version of Parley stored it. */
  find(blob: string): Promise<StoredBlobHashes | undefined>;
  close(): Promise<void>;
}

/** Copies a database that other processes use, and may change all the time. Each kind of database has one. */
export interface SnapshotSource {
  readonly kind: 'sqlite';
  /** Returns the size of a copy; an upper bound. @throws ServiceError `not-found` if there is no database. */
  getSizeBytes(): Promise<number>;
  /**
   * Writes a consistent copy to a new file: all transactions that were committed before the call, and no half of one.
   * @throws ServiceError `internal` if the database is corrupt.
   */
  write(file: string, options?: SnapshotOptions): Promise<SnapshotContent>;
  /** Opens the block hashes of a copy that `write` has made. */
  openHashes(file: string): Promise<SnapshotHashes>;
}
