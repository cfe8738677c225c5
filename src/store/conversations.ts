import type { Kysely, Selectable } from 'kysely';
import type { Owner } from '../core/context.ts';
import type { Metadata } from '../core/item.ts';
import type { RegionId } from '../core/region.ts';
import type { Run } from './run.ts';
import type { ConversationsTable } from './schema/conversations.ts';
import type { Database } from './schema/database.ts';

/** Whose something is. */
export type Place = Pick<Owner, 'region' | 'workspace'>;

export interface ConversationRecord extends Place {
  readonly id: string;
  /** UTC milliseconds. */
  readonly createdAt: number;
  readonly metadata: Metadata;
}

/** A conversation after room was made in it, and the position where that begins. */
export interface Extended {
  readonly record: ConversationRecord;
  readonly first: number;
}

export interface ConversationFilter {
  readonly region?: RegionId | undefined;
  readonly workspace?: string | undefined;
  /** The last id of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Times are UTC milliseconds. What an owner asks for and does not have is undefined or false. */
export interface ConversationStore {
  insert(record: ConversationRecord, first: { readonly nextPosition: number }): Promise<void>;
  find(place: Place, id: string): Promise<ConversationRecord | undefined>;
  setMetadata(place: Place, id: string, metadata: Metadata, at: number): Promise<ConversationRecord | undefined>;
  /** Without its items. */
  remove(place: Place, id: string): Promise<boolean>;
  /** Gives out the next `count` positions, also 0, to one caller alone; the conversation counts as changed. */
  extend(place: Place, id: string, count: number, at: number): Promise<Extended | undefined>;
  /** Takes the conversation for an answer until `until`, where no other one has it at `now`. */
  takeTurn(place: Place, id: string, wish: { turn: string; until: number; now: number }): Promise<boolean>;
  /** Until when an answer has the conversation; undefined where none has. */
  turnUntil(place: Place, id: string): Promise<number | undefined>;
  /** False where the answer does not have the conversation any more. So do the next two. */
  renewTurn(place: Place, id: string, wish: { turn: string; until: number }): Promise<boolean>;
  releaseTurn(place: Place, id: string, turn: string): Promise<boolean>;
  /** Lets the conversation go and gives out positions, in one step. */
  finishTurn(
    place: Place,
    id: string,
    wish: { turn: string; count: number; at: number },
  ): Promise<Extended | undefined>;

  /** The operator's: anybody's, in the order of their ids. */
  list(filter: ConversationFilter): Promise<readonly ConversationRecord[]>;
  findAnywhere(id: string): Promise<ConversationRecord | undefined>;
  /** Anybody's that were last changed before `before` and have no answer in the making at `now`, the oldest first. */
  listUnchanged(wish: { before: number; now: number; limit: number }): Promise<readonly ConversationRecord[]>;
  /** Where it is still so. */
  removeUnchanged(place: Place, id: string, before: number): Promise<boolean>;
}

export function createConversationStore(db: Kysely<Database>, run: Run): ConversationStore {
  const select = ({ region, workspace }: Place, id: string) =>
    db.selectFrom('conversations').where('id', '=', id).where('region', '=', region).where('workspace', '=', workspace);
  const update = ({ region, workspace }: Place, id: string) =>
    db
      .updateTable('conversations')
      .where('id', '=', id)
      .where('region', '=', region)
      .where('workspace', '=', workspace);
  const remove = ({ region, workspace }: Place, id: string) =>
    db.deleteFrom('conversations').where('id', '=', id).where('region', '=', region).where('workspace', '=', workspace);

  return {
    insert: (record, { nextPosition }) =>
      run(async () => {
        await db.insertInto('conversations').values(encode(record, nextPosition)).execute();
      }),
    find: (place, id) =>
      run(async () => {
        const row = await select(place, id).selectAll().executeTakeFirst();
        return row && decode(row);
      }),
    setMetadata: (place, id, metadata, at) =>
      run(async () => {
        const row = await update(place, id)
          .set({ metadata: JSON.stringify([...metadata]), changed_at: at })
          .returningAll()
          .executeTakeFirst();
        return row && decode(row);
      }),
    remove: (place, id) => run(async () => (await remove(place, id).returning('id').executeTakeFirst()) !== undefined),
    extend: (place, id, count, at) =>
      run(async () => {
        const row = await update(place, id)
          .set(({ eb }) => ({ next_position: eb('next_position', '+', count), changed_at: at }))
          .returningAll()
          .executeTakeFirst();
        return row && { record: decode(row), first: row.next_position - count };
      }),
    takeTurn: (place, id, { turn, until, now }) =>
      run(async () => {
        const row = await update(place, id)
          .set({ turn_id: turn, turn_until: until })
          .where((eb) => eb.or([eb('turn_id', 'is', null), eb('turn_until', '<=', now)]))
          .returning('id')
          .executeTakeFirst();
        return row !== undefined;
      }),
    turnUntil: (place, id) =>
      run(async () => (await select(place, id).select('turn_until').executeTakeFirst())?.turn_until ?? undefined),
    renewTurn: (place, id, { turn, until }) =>
      run(async () => {
        const row = await update(place, id)
          .set({ turn_until: until })
          .where('turn_id', '=', turn)
          .returning('id')
          .executeTakeFirst();
        return row !== undefined;
      }),
    releaseTurn: (place, id, turn) =>
      run(async () => {
        const row = await update(place, id)
          .set({ turn_id: null, turn_until: null })
          .where('turn_id', '=', turn)
          .returning('id')
          .executeTakeFirst();
        return row !== undefined;
      }),
    finishTurn: (place, id, { turn, count, at }) =>
      run(async () => {
        const row = await update(place, id)
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
      }),
    list: ({ region, workspace, after, limit }) =>
      run(async () => {
        let query = db.selectFrom('conversations').selectAll().orderBy('id').limit(limit);
        if (region !== undefined) query = query.where('region', '=', region);
        if (workspace !== undefined) query = query.where('workspace', '=', workspace);
        if (after !== undefined) query = query.where('id', '>', after);
        return (await query.execute()).map(decode);
      }),
    findAnywhere: (id) =>
      run(async () => {
        const row = await db.selectFrom('conversations').selectAll().where('id', '=', id).executeTakeFirst();
        return row && decode(row);
      }),
    listUnchanged: ({ before, now, limit }) =>
      run(async () => {
        const rows = await db
          .selectFrom('conversations')
          .selectAll()
          .where('changed_at', '<', before)
          .where((eb) => eb.or([eb('turn_id', 'is', null), eb('turn_until', '<=', now)]))
          .orderBy('changed_at')
          .limit(limit)
          .execute();
        return rows.map(decode);
      }),
    removeUnchanged: (place, id, before) =>
      run(async () => {
        const row = await remove(place, id).where('changed_at', '<', before).returning('id').executeTakeFirst();
        return row !== undefined;
      }),
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
