import type { Readable } from 'node:stream';

export interface BlobFacts {
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly md5: string;
}

export interface BlobWish {
  /** Asked before each piece is taken; what it throws ends the upload and is thrown on. Counted with the piece. */
  readonly allow?: (sizeBytes: number) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

/**
 * Bytes under names of ours: letters, digits, `-` and `_`. A name is written once and never again.
 *
 * A blob is there whole or not at all, whatever happens meanwhile; memory does not grow with its size. What an upload that
 * was cut off left behind is removed by it, or, after a crash, by `sweep`.
 */
export interface BlobStore {
  /** When it resolves, the blob survives a power cut. @throws whatever the source or `allow` throws; ServiceError `internal`. */
  put(name: string, source: AsyncIterable<Uint8Array>, wish?: BlobWish): Promise<BlobFacts>;
  /** @param range Inclusive, as in HTTP. @throws ServiceError `file-not-found`. */
  read(name: string, range?: { readonly start: number; readonly end: number }): Promise<Readable>;
  /** Of no effect where there is none. */
  delete(name: string): Promise<void>;
  /** Every blob with the time of its last change (UTC ms), in no particular order. */
  list(): AsyncIterable<{ readonly name: string; readonly changedAt: number }>;
  /** Removes what unfinished uploads older than that (UTC ms) left. @returns how many. */
  sweep(before: number): Promise<number>;
  close(): Promise<void>;
}
