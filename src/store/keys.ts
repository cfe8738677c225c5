import type { Kysely, Selectable } from 'kysely';
import type { KeyRecord } from '../core/key.ts';
import { findById } from './owned-by.ts';
import { type IdPageQuery, pageById } from './page-by-id.ts';
import { listIds } from './row-queries.ts';
import { decodeRow, encodeRow } from './row-codec.ts';
import type { Database } from './schema/database.ts';
import type { KeysTable } from './schema/keys.ts';

/** Stored API key, found by the hash of its secret. */
export interface StoredKey {
  readonly record: KeyRecord;
  /** SHA-256 of the secret, lower-case hex. */
  readonly hash: string;
}

/** API keys of all tenants. The operator manages all keys; a caller can only authenticate with its own. */
export interface KeyStore {
  insert(key: StoredKey): Promise<void>;
  find(id: string): Promise<KeyRecord | undefined>;
  findByHash(hash: string): Promise<StoredKey | undefined>;
  /** Lists keys in the order of their IDs, which is their order of creation. */
  list(page: IdPageQuery): Promise<readonly KeyRecord[]>;
  /** Returns undefined if the key does not exist or is already revoked: of concurrent calls, one gets the record. */
  revoke(id: string, at: number): Promise<KeyRecord | undefined>;
  /** Lets a key expire at `at`, unless it does so before. Returns undefined if it does not exist or is revoked. */
  expire(id: string, at: number): Promise<KeyRecord | undefined>;
  /** Whether a workspace other than this one has a key that is valid at `at`. */
  hasOtherWorkspace(workspace: string, at: number): Promise<boolean>;
  /** Records that the keys were used at `at`, unless later uses are known. */
  recordUses(ids: readonly string[], at: number): Promise<void>;
  /** Removes keys that were revoked, or have expired, before `before`. @returns the number of removed keys. */
  removeEnded(query: { readonly before: number; readonly limit: number }): Promise<number>;
}

export function createKeyStore(db: Kysely<Database>): KeyStore {
  return {
    async insert({ record, hash }) {
      await db
        .insertInto('keys')
        .values({ ...encodeRow(record), hash })
        .execute();
    },
    async find(id) {
      const row = await findById(db, 'keys', id);
      return row && decode(row);
    },
    async findByHash(hash) {
      const row = await db.selectFrom('keys').selectAll().where('hash', '=', hash).executeTakeFirst();
      return row && { record: decode(row), hash: row.hash };
    },
    list: async (page) => (await pageById(db.selectFrom('keys').selectAll(), page).execute()).map(decode),
    async revoke(id, at) {
      const row = await db
        .updateTable('keys')
        .set({ revoked_at: at })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .returningAll()
        .executeTakeFirst();
      return row && decode(row);
    },
    async expire(id, at) {
      const row = await db
        .updateTable('keys')
        .set(({ eb }) => ({
          expires_at: eb.case().when('expires_at', '<', at).then(eb.ref('expires_at')).else(at).end(),
        }))
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .returningAll()
        .executeTakeFirst();
      return row && decode(row);
    },
    async hasOtherWorkspace(workspace, at) {
      const row = await db
        .selectFrom('keys')
        .select('id')
        .where('workspace', '!=', workspace)
        .where('revoked_at', 'is', null)
        .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', at)]))
        .limit(1)
        .executeTakeFirst();
      return row !== undefined;
    },
    async removeEnded({ before, limit }) {
      const ended = db
        .selectFrom('keys')
        .select('id')
        .where((eb) => eb.or([eb('revoked_at', '<', before), eb('expires_at', '<', before)]))
        .limit(limit);
      return (await listIds(db.deleteFrom('keys').where('id', 'in', ended).returning('id'))).length;
    },
    async recordUses(ids, at) {
      await db
        .updateTable('keys')
        .set({ used_at: at })
        .where('id', 'in', ids)
        .where((eb) => eb.or([eb('used_at', 'is', null), eb('used_at', '<', at)]))
        .execute();
    },
  };
}

const decode = ({ hash: _hash, ...row }: Selectable<KeysTable>): KeyRecord => decodeRow(row);
