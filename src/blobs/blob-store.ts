import type { Readable } from 'node:stream';

export interface BlobMetadata {
  readonly sizeBytes: number;
  /** Lower-case hex digits. */
  readonly md5: string;
}

/** Metadata and hashes of a blob that was just written. */
export interface WrittenBlob extends BlobMetadata {
  /** SHA-256 of each block of `BLOB_BLOCK_BYTES`, in order and joined; the last block may be shorter. */
  readonly blockHashes: Uint8Array;
}

/** A store that hashes what it writes and does not verify what it reads. */
export interface UnverifiedBlobStore extends BlobStore {
  put(name: string, source: AsyncIterable<Uint8Array>, options?: PutBlobOptions): Promise<WrittenBlob>;
}

export interface PutBlobOptions {
  /** Called before each piece is accepted, with the size including it. An error it throws ends the upload. */
  readonly checkSize?: (sizeBytes: number) => void | Promise<void>;
  /** Ends the upload, also while the source is silent. `put` throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface BlobEntry {
  readonly name: string;
  readonly sizeBytes: number;
  /** Time of the last change, UTC ms. */
  readonly changedAt: number;
}

/** Inclusive byte positions from 0, as in HTTP. A part beyond the end of the blob is ignored. */
export interface BlobRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Stores bytes under names that Parley generates: 1 to 128 letters, digits, `-` and `_`; no two names differ only in
 * case. Every method throws ServiceError `internal` for another name. A name is written once and never reused.
 *
 * A blob either exists completely or not at all, whatever fails meanwhile. Memory does not grow with its size. A failed
 * upload removes its own remains; after a crash `abortUpload` and `removeStaleUploads` do.
 */
export interface BlobStore {
  /**
   * Writes a blob. When the promise resolves, the blob survives a power failure.
   * @throws errors of the source and of `checkSize`; the signal's reason; ServiceError `too-large` above the store's
   * limit per blob, `overloaded` if the store is full, `internal`.
   */
  put(name: string, source: AsyncIterable<Uint8Array>, options?: PutBlobOptions): Promise<BlobMetadata>;
  /**
   * Opens a blob for reading. The stream holds a file or a connection, so a consumer that stops early must destroy it.
   * The consumer owns the chunks and may release their memory; the store does not keep them.
   * @throws ServiceError `file-not-found`; `invalid-request` if the range starts after the last byte.
   */
  read(name: string, range?: BlobRange): Promise<Readable>;
  /** Deletes a blob if it exists. A running read may see the end of the blob or an error. */
  delete(name: string): Promise<void>;
  /**
   * Removes the remains of an unfinished upload. An upload of that name that is still running fails and leaves nothing.
   */
  abortUpload(name: string): Promise<void>;
  /** Lists all blobs, in no particular order. */
  list(): AsyncIterable<BlobEntry>;
  /**
   * Removes the remains of all unfinished uploads that started before `before` (UTC ms). The age must exceed the
   * maximum duration of an upload.
   * @returns the number of removed uploads.
   */
  removeStaleUploads(before: number): Promise<number>;
  close(): Promise<void>;
}
