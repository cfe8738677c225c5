import type { Readable } from 'node:stream';
import type { BlobRange } from '../../blobs/blob-store.ts';
import type { Owner } from '../../core/context.ts';
import type { ChunkedUploads } from './chunked-upload.ts';
import type { FileListQuery, FileRecord } from '../../store/files.ts';

/** Purposes that an upload may have. */
export const FILE_PURPOSES = ['fine-tune', 'file-extract', 'batch'] as const;

/** Purpose of files whose text is extracted, so that prompts can refer to them. */
export const EXTRACT_PURPOSE = 'file-extract';

/** Purpose of files that batches write; clients cannot upload one. */
export const BATCH_OUTPUT_PURPOSE = 'batch_output';

/** Purpose of files that a model's program wrote, under the name in the OpenAI API. */
export const CODE_OUTPUT_PURPOSE = 'assistants_output';

/** Storage quota of a workspace in one region. */
export interface FileLimits {
  readonly fileBytesMax: number;
  readonly totalBytesMax: number;
  /** Number of files. */
  readonly countMax: number;
}

/** A completely received upload. It counts against the quota; no client finds it before `Files.commit`. */
export interface ReceivedFile {
  readonly blob: string;
  readonly sizeBytes: number;
  readonly md5: string;
}

/** Properties of a file as the client states them. */
export interface FileDraft {
  /** The client's text; `rules.ts` cleans it. */
  readonly name: string;
  readonly description: string;
  readonly purpose: string;
}

/** `skip` pages by number; `after` is the last id of the previous page, whose file may be deleted by now. */
export type FileQuery = FileListQuery;

/**
 * Files of one workspace in one region; an id of another workspace or region is not found. A file exists completely or
 * not at all, and changes are durable when the promise resolves.
 */
export interface Files {
  /** Files that arrive in parts. */
  readonly chunked: ChunkedUploads;
  /**
   * Receives the bytes of one file as a stream. Storage is reserved before bytes are accepted, so that concurrent
   * uploads together never exceed the quota. If it throws, nothing of the file remains.
   * @throws ServiceError `count-quota`; `storage-quota`; `too-large`; `overloaded` if the disk is full; any error of
   * the source; the signal's reason.
   */
  receive(
    owner: Owner,
    source: AsyncIterable<Uint8Array>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<ReceivedFile>;
  /**
   * Turns received uploads into files: all or none.
   * @throws ServiceError `invalid-request` for a draft; `overloaded` if a reservation was lost.
   */
  commit(
    owner: Owner,
    files: readonly { readonly received: ReceivedFile; readonly draft: FileDraft }[],
  ): Promise<readonly FileRecord[]>;
  /** Deletes uploads that are not needed. Skips committed ones. Never throws: garbage collection repeats what fails. */
  discard(owner: Owner, files: readonly ReceivedFile[]): Promise<void>;
  /** @throws ServiceError `file-not-found`; so too `delete`. */
  find(owner: Owner, id: string): Promise<FileRecord>;
  /** Finds a file of any tenant. @throws as `find`. */
  findAnywhere(id: string): Promise<FileRecord>;
  /** Lists the newest first. @throws ServiceError `invalid-request` if `after` is no file id. */
  list(owner: Owner, query: FileQuery): Promise<readonly FileRecord[]>;
  /** Counts the files of a purpose, or all files. */
  count(owner: Owner, purpose?: string): Promise<number>;
  /**
   * Deletes a file at once; its bytes are removed then or by garbage collection.
   * @throws ServiceError `file-not-found`; `conflict` while a batch reads it.
   */
  delete(owner: Owner, id: string): Promise<void>;
  /**
   * Opens a file's bytes. A reader that stops early must destroy the stream.
   * @throws ServiceError `file-not-found`; `invalid-request` for a range beyond the end.
   */
  read(file: FileRecord, range?: BlobRange): Promise<Readable>;
  /**
   * Stops renewing reservations. Resolves when aborted uploads have released their reservations: abort them before.
   */
  close(): Promise<void>;
}
