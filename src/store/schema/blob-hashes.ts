/** Created by migration 0017: hashes of blobs, by which reads are verified. Older blobs have no row. */
export interface BlobHashesTable {
  /** Name of the bytes in the blob store. */
  blob: string;
  size_bytes: number;
  /** SHA-256 of each block of 256 KiB, in order and joined. */
  hashes: Uint8Array;
}
