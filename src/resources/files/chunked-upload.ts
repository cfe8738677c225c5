import type { Owner } from '../../core/context.ts';
import type { FileRecord } from '../../store/files.ts';
import type { UploadPartRecord, UploadRecord } from '../../store/uploads.ts';

/** Properties of a file whose bytes arrive in parts, as the client states them. */
export interface ChunkedUploadDraft {
  readonly name: string;
  readonly purpose: string;
  /** Size of the whole file. */
  readonly sizeBytes: number;
}

export interface UploadCompletion {
  /** Ids of the parts in the order of the file. */
  readonly partIds: readonly string[];
  /** MD5 of the whole file in hex digits; undefined: not checked. */
  readonly md5?: string | undefined;
}

/**
 * Uploads whose bytes arrive in parts, of one workspace in one region. A part that was acknowledged survives a crash. Parts
 * count against the storage quota like files; they are removed when the upload is completed, cancelled or expires.
 */
export interface ChunkedUploads {
  /** @throws ServiceError `invalid-request` naming the field; `storage-quota`; `count-quota`. */
  create(owner: Owner, draft: ChunkedUploadDraft): Promise<UploadRecord>;
  /** Checks that an upload accepts parts. @throws ServiceError `not-found`; `invalid-request` if it has ended. */
  checkPending(owner: Owner, id: string): Promise<void>;
  /**
   * Adds received bytes as a part. The caller discards the bytes if this throws.
   * @throws as `checkPending`; `overloaded` if the reservation was lost.
   */
  addPart(
    owner: Owner,
    id: string,
    received: { readonly blob: string; readonly sizeBytes: number },
  ): Promise<UploadPartRecord>;
  /**
   * Joins the parts to a file. A repeated completion returns the same file.
   * @throws as `checkPending`; `invalid-request` naming `part_ids` for an unknown or repeated part, or if the parts have
   *   another size than declared, and `md5` for another digest. The upload then stays pending.
   */
  complete(
    owner: Owner,
    id: string,
    completion: UploadCompletion,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly upload: UploadRecord; readonly file: FileRecord }>;
  /** Ends an upload and removes its parts. @throws as `checkPending`, except for a cancelled upload. */
  cancel(owner: Owner, id: string): Promise<UploadRecord>;
}
