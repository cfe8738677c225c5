import type { Kysely, Selectable } from 'kysely';
import type { Owner } from '../core/context.ts';
import type { Place } from './conversations.ts';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';
import type { ResearchRunsTable } from './schema/research.ts';

/** A run of deep research, without what was asked. Times are UTC milliseconds. */
export interface ResearchLink extends Owner {
  readonly id: string;
  readonly likeness: string;
  readonly state: ResearchRunsTable['state'];
  /** Of its job; 0 before the first. */
  readonly attempt: number;
  /** Number of the last step that is stored; -1 without steps. */
  readonly lastStep: number;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  /** The last sign of life of a reader. */
  readonly readAt: number;
  /** A reader was given its end. */
  readonly isDelivered: boolean;
  readonly endedAt: number | undefined;
  /** JSON of what it failed with. */
  readonly error: string | undefined;
}

export interface ResearchRecord extends ResearchLink {
  /** JSON of what was asked. */
  readonly body: string;
}

export interface ResearchEnd {
  readonly state: 'done' | 'failed' | 'cancelled';
  readonly at: number;
  /** Of whoever ends it; undefined: whoever has it. */
  readonly attempt?: number | undefined;
  /** Only where no reader gave a sign of life since. */
  readonly unreadSince?: number | undefined;
  readonly error?: string | undefined;
}

/** Whatever changes a run changes nothing, and says false, where it has ended or is not there. */
export interface ResearchStore {
  /** False where its key has an unfinished one of that likeness. */
  insert(record: ResearchRecord): Promise<boolean>;
  findState(id: string): Promise<ResearchLink | undefined>;
  find(id: string): Promise<ResearchRecord | undefined>;
  /** The unfinished one of its key that is like it; else the newest. */
  findLike(owner: Owner, likeness: string): Promise<ResearchLink | undefined>;
  /** Those that have not ended, of a key or of a workspace in a region. */
  countUnfinished(whose: { readonly keyId: string } | Place): Promise<number>;
  /** It goes on with this attempt, and with no older one. */
  begin(id: string, wish: { readonly attempt: number; readonly at: number }): Promise<boolean>;
  /** In a transaction. False also where another attempt has it, or `number` is not right behind the last one. */
  append(
    id: string,
    step: { readonly attempt: number; readonly number: number; readonly json: string },
  ): Promise<boolean>;
  /** False also where the end does not expect it as it is. */
  end(id: string, end: ResearchEnd): Promise<boolean>;
  /** A sign of life of a reader, also of one that has ended. */
  sign(id: string, at: number): Promise<void>;
  deliver(id: string): Promise<void>;
  /** JSON of the steps from that number on. */
  steps(id: string, page: { readonly from: number; readonly limit: number }): Promise<readonly string[]>;
  /** Unfinished ones whose last reader was there before. */
  listUnread(wish: { readonly before: number; readonly limit: number }): Promise<readonly string[]>;
  /** Those that ended before, and whose last reader was there before. */
  listPast(wish: { readonly before: number; readonly limit: number }): Promise<readonly string[]>;
  /** With its steps; in a transaction. */
  remove(id: string): Promise<void>;
}

const LINK = [
  'id',
  'region',
  'workspace',
  'key_id',
  'likeness',
  'state',
  'attempt',
  'last_step',
  'created_at',
  'started_at',
  'read_at',
  'delivered',
  'ended_at',
  'error',
] as const;

export function createResearchStore(db: Kysely<Database>, run: Run): ResearchStore {
  const unfinished = (id: string) =>
    db.updateTable('research_runs').where('id', '=', id).where('ended_at', 'is', null).returning('id');

  return {
    insert: (record) =>
      run(async () => {
        const row = await db
          .insertInto('research_runs')
          .values(encode(record))
          .onConflict((conflict) => conflict.doNothing())
          .returning('id')
          .executeTakeFirst();
        return row !== undefined;
      }),
    findState: (id) =>
      run(async () => {
        const row = await db.selectFrom('research_runs').select(LINK).where('id', '=', id).executeTakeFirst();
        return row && decodeLink(row);
      }),
    find: (id) =>
      run(async () => {
        const row = await db.selectFrom('research_runs').selectAll().where('id', '=', id).executeTakeFirst();
        return row && { ...decodeLink(row), body: row.body };
      }),
    findLike: ({ region, workspace, keyId }, likeness) =>
      run(async () => {
        const row = await db
          .selectFrom('research_runs')
          .select(LINK)
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .where('key_id', '=', keyId)
          .where('likeness', '=', likeness)
          // By the row and not by the clock, which may have been set back.
          .orderBy(({ eb }) => eb.case().when('ended_at', 'is', null).then(0).else(1).end())
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc')
          .limit(1)
          .executeTakeFirst();
        return row && decodeLink(row);
      }),
    countUnfinished: (whose) =>
      run(async () => {
        let query = db
          .selectFrom('research_runs')
          .select(({ fn }) => fn.countAll().as('count'))
          .where('ended_at', 'is', null);
        query =
          'keyId' in whose
            ? query.where('key_id', '=', whose.keyId)
            : query.where('region', '=', whose.region).where('workspace', '=', whose.workspace);
        return Number((await query.executeTakeFirstOrThrow()).count);
      }),
    begin: (id, { attempt, at }) =>
      run(async () => {
        const row = await unfinished(id)
          .set(({ fn, val }) => ({ state: 'running', attempt, started_at: fn.coalesce('started_at', val(at)) }))
          .where('attempt', '<', attempt)
          .executeTakeFirst();
        return row !== undefined;
      }),
    append: (id, { attempt, number, json }) =>
      run(async () => {
        const row = await unfinished(id)
          .set({ last_step: number })
          .where('attempt', '=', attempt)
          .where('last_step', '=', number - 1)
          .executeTakeFirst();
        if (!row) return false;
        await db.insertInto('research_steps').values({ run_id: id, number, json }).execute();
        return true;
      }),
    end: (id, { state, at, attempt, unreadSince, error }) =>
      run(async () => {
        let update = unfinished(id).set({ state, ended_at: at, error: error ?? null });
        if (attempt !== undefined) update = update.where('attempt', '=', attempt);
        if (unreadSince !== undefined) update = update.where('read_at', '<', unreadSince);
        return (await update.executeTakeFirst()) !== undefined;
      }),
    sign: (id, at) =>
      run(async () => {
        await db
          .updateTable('research_runs')
          .set({ read_at: at })
          .where('id', '=', id)
          .where('read_at', '<', at)
          .execute();
      }),
    deliver: (id) =>
      run(async () => {
        await db.updateTable('research_runs').set({ delivered: 1 }).where('id', '=', id).execute();
      }),
    steps: (id, { from, limit }) =>
      run(async () => {
        const rows = await db
          .selectFrom('research_steps')
          .select('json')
          .where('run_id', '=', id)
          .where('number', '>=', from)
          .orderBy('number')
          .limit(limit)
          .execute();
        return rows.map(({ json }) => json);
      }),
    listUnread: ({ before, limit }) =>
      run(async () => {
        const rows = await db
          .selectFrom('research_runs')
          .select('id')
          .where('ended_at', 'is', null)
          .where('read_at', '<', before)
          .orderBy('read_at')
          .limit(limit)
          .execute();
        return rows.map(({ id }) => id);
      }),
    listPast: ({ before, limit }) =>
      run(async () => {
        const rows = await db
          .selectFrom('research_runs')
          .select('id')
          .where('ended_at', '<', before)
          .where('read_at', '<', before)
          .orderBy('ended_at')
          .limit(limit)
          .execute();
        return rows.map(({ id }) => id);
      }),
    remove: (id) =>
      run(async () => {
        await db.deleteFrom('research_steps').where('run_id', '=', id).execute();
        await db.deleteFrom('research_runs').where('id', '=', id).execute();
      }),
  };
}

const encode = (record: ResearchRecord): ResearchRunsTable => ({
  id: record.id,
  region: record.region,
  workspace: record.workspace,
  key_id: record.keyId,
  likeness: record.likeness,
  state: record.state,
  attempt: record.attempt,
  last_step: record.lastStep,
  created_at: record.createdAt,
  started_at: record.startedAt ?? null,
  read_at: record.readAt,
  delivered: record.isDelivered ? 1 : 0,
  ended_at: record.endedAt ?? null,
  error: record.error ?? null,
  body: record.body,
});

const decodeLink = (row: Omit<Selectable<ResearchRunsTable>, 'body'>): ResearchLink => ({
  id: row.id,
  region: row.region,
  workspace: row.workspace,
  keyId: row.key_id,
  likeness: row.likeness,
  state: row.state,
  attempt: row.attempt,
  lastStep: row.last_step,
  createdAt: row.created_at,
  startedAt: row.started_at ?? undefined,
  readAt: row.read_at,
  isDelivered: row.delivered === 1,
  endedAt: row.ended_at ?? undefined,
  error: row.error ?? undefined,
});
