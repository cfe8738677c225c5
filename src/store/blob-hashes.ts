import { sql, type Kysely } from 'kysely';
import type { Database } from './schema/database.ts';

/** Bytes of a SHA-256. */
const HASH_BYTES = 32;

/** Largest integer of four bytes, the type of positions in Postgres. */
const INTEGER_MAX = 2 ** 31 - 1;

/** Size of a blob, and the SHA-256 of its blocks in order and joined. */
export interface StoredBlobHashes {
  readonly sizeBytes: number;
  readonly hashes: Uint8Array;
}

/** Hashes of blobs by name. Each method is one statement. */
export interface BlobHashStore {
  /** Replaces the hashes of an interrupted attempt to write the same blob. */
  put(blob: string, record: StoredBlobHashes): Promise<void>;
  /** Returns the hashes of the given blocks, numbered from 0, or of all. Blocks beyond the end are ignored. */
  find(blob: string, blocks?: { readonly first: number; readonly last: number }): Promise<StoredBlobHashes | undefined>;
  remove(blob: string): Promise<void>;
}

export function createBlobHashStore(db: Kysely<Database>): BlobHashStore {
  return {
    async put(blob, { sizeBytes, hashes }) {
      await db
        .insertInto('blob_hashes')
        .values({ blob, size_bytes: sizeBytes, hashes })
        .onConflict((conflict) => conflict.column('blob').doUpdateSet({ size_bytes: sizeBytes, hashes }))
        .execute();
    },
    async find(blob, blocks) {
      const row = await db
        .selectFrom('blob_hashes')
        .select(['size_bytes', blocks ? selectBlocks(blocks).as('hashes') : 'hashes'])
        .where('blob', '=', blob)
        .executeTakeFirst();
      return row && { sizeBytes: row.size_bytes, hashes: row.hashes ?? new Uint8Array() };
    },
    async remove(blob) {
      await db.deleteFrom('blob_hashes').where('blob', '=', blob).execute();
    },
  };
}

/** Reads a part of the column: the hashes of a large file take as long to read as a block of it. */
function selectBlocks({ first, last }: { readonly first: number; readonly last: number }) {
  // SQL counts bytes from 1.
  const start = first * HASH_BYTES + 1;
  const length = Math.min((last - first + 1) * HASH_BYTES, INTEGER_MAX - start);
  // SQLite returns null for a part of no bytes.
  return sql<Uint8Array | null>`substr(hashes, ${start}, ${length})`;
}
