import type { Readable } from 'node:stream';
import type { BlobRange } from '../../blobs/blob-store.ts';
import type { Owner } from '../../core/context.ts';
import type { FileRecord } from '../../store/files.ts';

/** What files are for. */
export const FILE_PURPOSES = ['fine-tune', 'file-extract', 'batch'] as const;

/** Of files whose text is read, so that prompts can name them. */
export const EXTRACT_PURPOSE = 'file-extract';

/** Of files that are made here: nobody can send one. */
export const RESULTS_PURPOSE = 'batch_output';

/** The same of those that programs of a model wrote, as the compatible interface has named it from the beginning. */
export const PROGRAM_PURPOSE = 'assistants_output';

/** What a workspace may have in a region. */
export interface FileLimits {
  readonly fileBytesMax: number;
  readonly totalBytesMax: number;
  /** How many files. */
  readonly countMax: number;
}

/** A file that came in whole. It counts, and nobody finds it until it is kept. */
export interface ReceivedFile {
  readonly blob: string;
  readonly sizeBytes: number;
  readonly md5: string;
}

/** What its sender says of a file. */
export interface FileDraft {
  /** As it was sent; what is kept of it is `rules.ts`' matter. */
  readonly name: string;
  readonly description: string;
  readonly purpose: string;
}

/** `skip`: by pages; `after`: the id that the page before ended with, of a file that may be gone since. */
export interface FileListWish {
  readonly purpose?: string | undefined;
  readonly limit: number;
  readonly skip?: number | undefined;
  readonly after?: string | undefined;
  /** At or after, and at or before, in UTC milliseconds. */
  readonly createdFrom?: number | undefined;
  readonly createdTo?: number | undefined;
}

/**
 * Files of one workspace in one region; anybody else's are not there. A file is there whole or not at all; what was
 * answered is on the disk.
 */
export interface Files {
  /**
   * Takes in the bytes of one file, as they come. The room for them is reserved before they are taken, so that no number
   * of uploads at once holds more than the workspace may have. Whatever it throws, nothing is left of the file.
   * @throws ServiceError `count-quota`; `storage-quota`; `too-large`; `overloaded` where the service has no room; whatever the source throws, or the signal's reason.
   */
  receive(
    owner: Owner,
    source: AsyncIterable<Uint8Array>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<ReceivedFile>;
  /**
   * Makes files of what was received: all or none.
   * @throws ServiceError `invalid-request` for a draft; `internal` where one of them is not held any more.
   */
  keep(
    owner: Owner,
    files: readonly { readonly received: ReceivedFile; readonly draft: FileDraft }[],
  ): Promise<readonly FileRecord[]>;
  /** Lets go of what was received and is not wanted; of no effect for what is kept. Never throws: what fails is swept later. */
  drop(owner: Owner, files: readonly ReceivedFile[]): Promise<void>;
  /** @throws ServiceError `file-not-found`; so too `delete`. */
  find(owner: Owner, id: string): Promise<FileRecord>;
  /** Whose ever it is. @throws as `find`. */
  findAnywhere(id: string): Promise<FileRecord>;
  /** The newest first. @throws ServiceError `invalid-request` where `after` is no id. */
  list(owner: Owner, wish: FileListWish): Promise<readonly FileRecord[]>;
  /** How many there are of a purpose, without one of all. */
  count(owner: Owner, purpose?: string): Promise<number>;
  /**
   * From then on nobody finds it; its bytes go with it, or are swept later.
   * @throws also `conflict` while a batch reads it.
   */
  delete(owner: Owner, id: string): Promise<void>;
  /** Whoever does not read it to its end destroys it. @throws ServiceError `file-not-found`; `invalid-request` beyond its end. */
  read(file: FileRecord, range?: BlobRange): Promise<Readable>;
  /** Stops renewing what is being received. Resolves when what was broken off has given its room back: break it off before. */
  close(): Promise<void>;
}
