import type { Readable } from 'node:stream';

export interface BlobFacts {
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly md5: string;
}

export interface BlobWish {
  /** Asked before each piece is taken; what it throws ends the upload and is thrown on. Counted with the piece. */
  readonly allow?: (sizeBytes: number) => void | Promise<void>;
  /** Ends the upload, also while the source is silent; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}

/** Both inclusive, in bytes from 0, as in HTTP; what lies beyond the end of the blob is left out. */
export interface BlobRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Bytes under names of ours: 1 to 128 letters, digits, `-` and `_`, of which no two differ by case only. Nobody but the
 * house chooses them: every method throws ServiceError `internal` for another name. A name is written once and never again.
 *
 * A blob is there whole or not at all, whatever happens meanwhile; memory does not grow with its size. What an upload that
 * was cut off left behind is removed by it, or, after a crash, by `abandon` and `sweep`.
 */
export interface BlobStore {
  /**
   * When it resolves, the blob survives a power cut.
   * @throws whatever the source or `allow` throws, or the signal's reason; ServiceError `too-large` beyond what the store
   * can hold under one name, `overloaded` where it is full; ServiceError `internal`.
   */
  put(name: string, source: AsyncIterable<Uint8Array>, wish?: BlobWish): Promise<BlobFacts>;
  /**
   * The stream holds a file or a connection: whoever does not read it to its end destroys it. Its chunks belong to whoever
   * reads them, who may give their memory back: the store keeps none.
   * @throws ServiceError `file-not-found`; `invalid-request` where the range begins behind the last byte.
   */
  read(name: string, range?: BlobRange): Promise<Readable>;
  /** Of no effect where there is none. Who reads it already may see its end or an error. */
  delete(name: string): Promise<void>;
  /** Removes what an unfinished upload of that name left. One that still runs fails, and leaves nothing. */
  abandon(name: string): Promise<void>;
  /** Every blob with the time of its last change (UTC ms), in no particular order. */
  list(): AsyncIterable<{ readonly name: string; readonly changedAt: number }>;
  /**
   * The same for all unfinished uploads older than that (UTC ms), also of names that nobody knows any more. The age has to
   * be greater than the time that an upload may take.
   * @returns how many.
   */
  sweep(before: number): Promise<number>;
  close(): Promise<void>;
}
