import type { Kysely, Selectable } from 'kysely';
import type { Place } from './conversations.ts';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';
import type { ResponsesTable } from './schema/responses.ts';

export interface ResponseRecord extends Place {
  readonly id: string;
  /** UTC milliseconds. */
  readonly createdAt: number;
  /** The conversation it was made in, and where its own items begin there; the conversation may be deleted since. */
  readonly conversation?: { readonly id: string; readonly from: number | undefined } | undefined;
  /** The response it goes on from. */
  readonly previous?: string | undefined;
  /** Of its input and output together. */
  readonly itemCount: number;
  readonly itemBytes: number;
  readonly json: string;
}

/** A response without what it said. */
export type ResponseLink = Omit<ResponseRecord, 'json'>;

export interface ResponseStore {
  insert(record: ResponseRecord): Promise<void>;
  find(place: Place, id: string): Promise<ResponseRecord | undefined>;
  /**
   * The response, the one it goes on from, and so on, at most `linksMax` of them. Where the last one goes on from one
   * that is not among them and there are fewer, that one is not there.
   */
  chain(place: Place, id: string, linksMax: number): Promise<readonly ResponseLink[]>;
  /** Without its items. */
  remove(place: Place, id: string): Promise<boolean>;

  /** The operator's: those made in a conversation, also a deleted one, in the order of their ids. */
  listOfConversation(
    conversation: string,
    page: { readonly after?: string | undefined; readonly limit: number },
  ): Promise<readonly ResponseRecord[]>;
  /** Anybody's that were made before, the oldest first. */
  listOlder(wish: { before: number; limit: number }): Promise<readonly ResponseLink[]>;
  /** Anybody's, in the order of their ids. */
  list(filter: {
    readonly region?: Place['region'] | undefined;
    readonly workspace?: string | undefined;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly ResponseLink[]>;
}

const LINK = [
  'id',
  'region',
  'workspace',
  'created_at',
  'conversation_id',
  'conversation_from',
  'previous_id',
  'item_count',
  'item_bytes',
] as const;

export function createResponseStore(db: Kysely<Database>, run: Run): ResponseStore {
  const chain = async (
    { region, workspace }: Place,
    id: string,
    linksMax: number,
  ): Promise<readonly ResponseLink[]> => {
    const rows = await db
      .withRecursive('chain', (recursion) =>
        recursion
          .selectFrom('responses')
          .where('id', '=', id)
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .select(LINK)
          .select((eb) => eb.lit(1).as('depth'))
          .unionAll(
            recursion
              .selectFrom('chain')
              .innerJoin('responses', 'responses.id', 'chain.previous_id')
              .where('responses.region', '=', region)
              .where('responses.workspace', '=', workspace)
              .where('chain.depth', '<', linksMax)
              .select(LINK.map((column) => `responses.${column}` as const))
              .select((eb) => eb('chain.depth', '+', eb.lit(1)).as('depth')),
          ),
      )
      .selectFrom('chain')
      .select(LINK)
      .orderBy('depth')
      .execute();
    return rows.map(decodeLink);
  };

  return {
    insert: (record) =>
      run(async () => {
        await db.insertInto('responses').values(encode(record)).execute();
      }),
    find: ({ region, workspace }, id) =>
      run(async () => {
        const row = await db
          .selectFrom('responses')
          .selectAll()
          .where('id', '=', id)
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .executeTakeFirst();
        return row && decode(row);
      }),
    chain: (place, id, linksMax) => run(() => chain(place, id, linksMax)),
    remove: ({ region, workspace }, id) =>
      run(async () => {
        const row = await db
          .deleteFrom('responses')
          .where('id', '=', id)
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .returning('id')
          .executeTakeFirst();
        return row !== undefined;
      }),
    listOfConversation: (conversation, { after, limit }) =>
      run(async () => {
        let query = db
          .selectFrom('responses')
          .selectAll()
          .where('conversation_id', '=', conversation)
          .orderBy('id')
          .limit(limit);
        if (after !== undefined) query = query.where('id', '>', after);
        return (await query.execute()).map(decode);
      }),
    listOlder: ({ before, limit }) =>
      run(async () => {
        const rows = await db
          .selectFrom('responses')
          .select(LINK)
          .where('created_at', '<', before)
          .orderBy('created_at')
          .limit(limit)
          .execute();
        return rows.map(decodeLink);
      }),
    list: ({ region, workspace, after, limit }) =>
      run(async () => {
        let query = db.selectFrom('responses').select(LINK).orderBy('id').limit(limit);
        if (region !== undefined) query = query.where('region', '=', region);
        if (workspace !== undefined) query = query.where('workspace', '=', workspace);
        if (after !== undefined) query = query.where('id', '>', after);
        return (await query.execute()).map(decodeLink);
      }),
  };
}

const encode = (record: ResponseRecord): ResponsesTable => ({
  id: record.id,
  region: record.region,
  workspace: record.workspace,
  created_at: record.createdAt,
  conversation_id: record.conversation?.id ?? null,
  conversation_from: record.conversation?.from ?? null,
  previous_id: record.previous ?? null,
  item_count: record.itemCount,
  item_bytes: record.itemBytes,
  json: record.json,
});

const decode = (row: Selectable<ResponsesTable>): ResponseRecord => ({ ...decodeLink(row), json: row.json });

const decodeLink = (row: Omit<Selectable<ResponsesTable>, 'json'>): ResponseLink => ({
  id: row.id,
  region: row.region,
  workspace: row.workspace,
  createdAt: row.created_at,
  conversation:
    row.conversation_id === null ? undefined : { id: row.conversation_id, from: row.conversation_from ?? undefined },
  previous: row.previous_id ?? undefined,
  itemCount: row.item_count,
  itemBytes: row.item_bytes,
});
