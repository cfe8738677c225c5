import type { Kysely, Selectable } from 'kysely';
import type { Metadata } from '../core/item.ts';
import { findById, findOwned, ownedBy, removeOwned } from './owned-by.ts';
import { type IdPageQuery, pageById } from './page-by-id.ts';
import type { TenantScope } from './tenant-scope.ts';
import type { ConversationsTable } from './schema/conversations.ts';
import { hasRow } from './row-queries.ts';
import type { Database } from './schema/database.ts';

export interface ConversationRecord extends TenantScope {
  readonly id: string;
  /** UTC milliseconds. */
  readonly createdAt: number;
  readonly metadata: Metadata;
}

/** A conversation after positions were assigned in it; `first` is the first new position. */
export interface ConversationExtension {
  readonly record: ConversationRecord;
  readonly first: number;
}

/** Times are UTC milliseconds. Conversations that the tenant does not own yield undefined or false. */
export interface ConversationStore {
  insert(record: ConversationRecord, first: { readonly nextPosition: number }): Promise<void>;
  find(scope: TenantScope, id: string): Promise<ConversationRecord | undefined>;
  setMetadata(scope: TenantScope, id: string, metadata: Metadata, at: number): Promise<ConversationRecord | undefined>;
  /** Removes the conversation, but not its items. */
  remove(scope: TenantScope, id: string): Promise<boolean>;
  /** Assigns the next `count` positions (0 is allowed) to one caller alone and marks the conversation as changed. */
  extend(scope: TenantScope, id: string, count: number, at: number): Promise<ConversationExtension | undefined>;
  /**
   * Leases the conversation to a response until `until`, unless another response holds the lease at `now`. A lease
   * longer than twice that time was taken before the clock was set back: it counts as expired, because it would
   * otherwise last until the old time.
   */
  acquireTurnLease(
    scope: TenantScope,
    id: string,
    options: { turn: string; until: number; now: number },
  ): Promise<boolean>;
  /** Returns when the lease of the current response ends; undefined without one. */
  getTurnLeaseUntil(scope: TenantScope, id: string): Promise<number | undefined>;
  /** Returns false if the response no longer holds the lease; the next two methods return false or undefined then. */
  renewTurnLease(scope: TenantScope, id: string, options: { turn: string; until: number }): Promise<boolean>;
  releaseTurnLease(scope: TenantScope, id: string, turn: string): Promise<boolean>;
  /** Releases the lease and assigns positions, in one statement. */
  finishTurn(
    scope: TenantScope,
    id: string,
    options: { turn: string; count: number; at: number },
  ): Promise<ConversationExtension | undefined>;

  /** For the operator: lists conversations of all tenants in the order of their IDs. */
  list(page: IdPageQuery): Promise<readonly ConversationRecord[]>;
  findInAnyTenant(id: string): Promise<ConversationRecord | undefined>;
  /** Lists conversations of all tenants last changed before `before` and without a lease at `now`, oldest first. */
  listUnchanged(query: { before: number; now: number; limit: number }): Promise<readonly ConversationRecord[]>;
  /** Removes the conversation if it still has not changed since `before`. */
  removeUnchanged(scope: TenantScope, id: string, before: number): Promise<boolean>;
}

export function createConversationStore(db: Kysely<Database>): ConversationStore {
  const select = (scope: TenantScope, id: string) =>
    db.selectFrom('conversations').where('id', '=', id).where(ownedBy(scope));
  const update = (scope: TenantScope, id: string) =>
    db.updateTable('conversations').where('id', '=', id).where(ownedBy(scope));
  const remove = (scope: TenantScope, id: string) =>
    db.deleteFrom('conversations').where('id', '=', id).where(ownedBy(scope));

  return {
    async insert(record, { nextPosition }) {
      await db.insertInto('conversations').values(encode(record, nextPosition)).execute();
    },
    async find(scope, id) {
      const row = await findOwned(db, 'conversations', scope, id);
      return row && decode(row);
    },
    async setMetadata(scope, id, metadata, at) {
      const row = await update(scope, id)
        .set({ metadata: JSON.stringify([...metadata]), changed_at: at })
        .returningAll()
        .executeTakeFirst();
      return row && decode(row);
    },
    remove: (scope, id) => removeOwned(db, 'conversations', scope, id),
    async extend(scope, id, count, at) {
      const row = await update(scope, id)
        .set(({ eb }) => ({ next_position: eb('next_position', '+', count), changed_at: at }))
        .returningAll()
        .executeTakeFirst();
      return row && { record: decode(row), first: row.next_position - count };
    },
    async acquireTurnLease(scope, id, { turn, until, now }) {
      return hasRow(
        update(scope, id)
          .set({ turn_id: turn, turn_until: until })
          .where((eb) =>
            eb.or([
              eb('turn_id', 'is', null),
              eb('turn_until', '<=', now),
              eb('turn_until', '>', now + 2 * (until - now)),
            ]),
          )
          .returning('id'),
      );
    },
    getTurnLeaseUntil: async (scope, id) =>
      (await select(scope, id).select('turn_until').executeTakeFirst())?.turn_until ?? undefined,
    async renewTurnLease(scope, id, { turn, until }) {
      return hasRow(update(scope, id).set({ turn_until: until }).where('turn_id', '=', turn).returning('id'));
    },
    async releaseTurnLease(scope, id, turn) {
      return hasRow(
        update(scope, id).set({ turn_id: null, turn_until: null }).where('turn_id', '=', turn).returning('id'),
      );
    },
    async finishTurn(scope, id, { turn, count, at }) {
      const row = await update(scope, id)
        .set(({ eb }) => ({
          turn_id: null,
          turn_until: null,
          next_position: eb('next_position', '+', count),
          changed_at: at,
        }))
        .where('turn_id', '=', turn)
        .returningAll()
        .executeTakeFirst();
      return row && { record: decode(row), first: row.next_position - count };
    },
    list: async (page) => (await pageById(db.selectFrom('conversations').selectAll(), page).execute()).map(decode),
    async findInAnyTenant(id) {
      const row = await findById(db, 'conversations', id);
      return row && decode(row);
    },
    async listUnchanged({ before, now, limit }) {
      const rows = await db
        .selectFrom('conversations')
        .selectAll()
        .where('changed_at', '<', before)
        .where((eb) => eb.or([eb('turn_id', 'is', null), eb('turn_until', '<=', now)]))
        .orderBy('changed_at')
        .limit(limit)
        .execute();
      return rows.map(decode);
    },
    async removeUnchanged(scope, id, before) {
      return hasRow(remove(scope, id).where('changed_at', '<', before).returning('id'));
    },
  };
}

const encode = ({ id, region, workspace, createdAt, metadata }: ConversationRecord, nextPosition: number) => ({
  id,
  region,
  workspace,
  created_at: createdAt,
  changed_at: createdAt,
  metadata: JSON.stringify([...metadata]),
  next_position: nextPosition,
  turn_id: null,
  turn_until: null,
});

function decode(row: Selectable<ConversationsTable>): ConversationRecord {
  const pairs: readonly (readonly [string, string])[] = JSON.parse(row.metadata);
  return {
    id: row.id,
    region: row.region,
    workspace: row.workspace,
    createdAt: row.created_at,
    metadata: new Map(pairs),
  };
}
