import type { Kysely } from 'kysely';
import type { TenantScope } from './tenant-scope.ts';
import { findOwned, ownedBy } from './owned-by.ts';
import { decodeRow, encodeRow } from './row-codec.ts';
import { hasRow, listIds, readCount } from './row-queries.ts';
import type { Database } from './schema/database.ts';
import type { UploadsTable } from './schema/uploads.ts';

export type UploadStatus = UploadsTable['status'];

/** An upload whose bytes arrive in parts. Times are UTC milliseconds. */
export interface UploadRecord extends TenantScope {
  readonly id: string;
  readonly keyId: string;
  readonly name: string;
  readonly purpose: string;
  /** Size of the whole file, as the client declared it. */
  readonly sizeBytes: number;
  readonly status: UploadStatus;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** ID of the file; undefined until the upload is completed. */
  readonly fileId: string | undefined;
}

export interface UploadPartRecord {
  readonly id: string;
  readonly uploadId: string;
  /** Name of the part's bytes in the blob store. */
  readonly blob: string;
  readonly sizeBytes: number;
  readonly createdAt: number;
}

/** Uploads in parts. The bytes of a part count as a reservation of `FileStore`, held for the upload. */
export interface UploadStore {
  insert(record: UploadRecord): Promise<void>;
  find(scope: TenantScope, id: string): Promise<UploadRecord | undefined>;
  /** Counts the uploads that are pending and have not expired. */
  countPending(scope: TenantScope, now: number): Promise<number>;
  /** Ends a pending upload. @returns whether it was pending. */
  end(id: string, end: { status: 'completed' | 'cancelled'; fileId?: string | undefined }): Promise<boolean>;
  insertPart(part: UploadPartRecord): Promise<void>;
  /** Lists the parts of an upload, oldest first. */
  listParts(uploadId: string): Promise<readonly UploadPartRecord[]>;
  removeParts(uploadId: string): Promise<void>;
  /** Removes uploads that expired before `before`, with their parts, in any state. @returns their number. */
  removeExpired(query: { before: number; limit: number }): Promise<number>;
}

export function createUploadStore(db: Kysely<Database>): UploadStore {
  return {
    async insert(record) {
      await db.insertInto('uploads').values(encodeRow(record)).execute();
    },
    async find(scope, id) {
      const row = await findOwned(db, 'uploads', scope, id);
      return row && decodeRow(row);
    },
    countPending: (scope, now) =>
      readCount(
        db
          .selectFrom('uploads')
          .select(({ fn }) => fn.countAll().as('count'))
          .where(ownedBy(scope))
          .where('status', '=', 'pending')
          .where('expires_at', '>', now),
      ),
    end: (id, { status, fileId }) =>
      hasRow(
        db
          .updateTable('uploads')
          .set({ status, file_id: fileId ?? null })
          .where('id', '=', id)
          .where('status', '=', 'pending')
          .returning('id'),
      ),
    async insertPart(part) {
      await db.insertInto('upload_parts').values(encodeRow(part)).execute();
    },
    async listParts(uploadId) {
      const rows = await db
        .selectFrom('upload_parts')
        .selectAll()
        .where('upload_id', '=', uploadId)
        .orderBy('id')
        .execute();
      return rows.map((row) => decodeRow(row));
    },
    async removeParts(uploadId) {
      await db.deleteFrom('upload_parts').where('upload_id', '=', uploadId).execute();
    },
    async removeExpired({ before, limit }) {
      const ids = await listIds(
        db.selectFrom('uploads').select('id').where('expires_at', '<', before).orderBy('expires_at').limit(limit),
      );
      if (ids.length === 0) return 0;
      await db
        .deleteFrom('upload_parts')
        .where('upload_id', 'in', [...ids])
        .execute();
      await db
        .deleteFrom('uploads')
        .where('id', 'in', [...ids])
        .execute();
      return ids.length;
    },
  };
}
