import type { FileRecord } from './file-record.ts';

/** A complete, verified download that does not have its final name yet. */
export interface FetchedFile extends Pick<FileRecord, 'sizeBytes' | 'sha256' | 'verified' | 'source'> {
  readonly path: string;
}
