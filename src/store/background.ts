import type { Kysely, Selectable } from 'kysely';
import type { Place } from './conversations.ts';
import type { Run } from './run.ts';
import type { BackgroundRunsTable } from './schema/background.ts';
import type { Database } from './schema/database.ts';

export type RunState = BackgroundRunsTable['state'];

/** A response that is made while nobody waits, without what it says. Times are UTC milliseconds. */
export interface RunLink extends Place {
  readonly id: string;
  readonly keyId: string;
  readonly state: RunState;
  /** Of its job; 0 before the first. */
  readonly attempt: number;
  readonly isStreamed: boolean;
  /** Number of the last event that is stored; -1 without events. */
  readonly lastSequence: number;
  /** Of all of them. */
  readonly eventChars: number;
  /** Until when its events are kept; undefined before its end, and when they are gone. */
  readonly eventsUntil: number | undefined;
  readonly conversation: string | undefined;
  readonly previous: string | undefined;
  readonly createdAt: number;
  readonly endedAt: number | undefined;
}

export interface RunRecord extends RunLink {
  /** The response as it was told last; undefined where `responses` has it. */
  readonly json: string | undefined;
  /** JSON of what was asked; undefined when it has ended. */
  readonly body: string | undefined;
}

/** How a run changes. */
export interface RunStep {
  /** Of the job that does it, which is the newest: it changes nothing otherwise. Undefined: whoever has it. */
  readonly attempt?: number | undefined;
  /** It begins with this attempt, and goes before older ones. */
  readonly isBegin?: boolean;
  readonly state: RunState;
  /** Undefined: as before. */
  readonly json?: string | undefined;
  /** What is told of it: `first` comes right behind the last event that is stored, or nothing is changed. */
  readonly events?: { readonly first: number; readonly count: number; readonly chars: number } | undefined;
  /** Where it ends. */
  readonly end?: { readonly at: number; readonly eventsUntil: number | undefined } | undefined;
}

export interface BackgroundStore {
  insert(record: RunRecord): Promise<void>;
  /** Those of a key that have not ended. */
  countUnfinished(keyId: string): Promise<number>;
  find(place: Place, id: string): Promise<RunRecord | undefined>;
  /** Anybody's, without what was asked and told. */
  findState(id: string): Promise<RunLink | undefined>;
  findAnywhere(id: string): Promise<RunRecord | undefined>;
  /** False where it has ended, is not there, or is not as the step expects. What was asked goes with the end. */
  advance(id: string, step: RunStep): Promise<boolean>;
  remove(place: Place, id: string): Promise<boolean>;
  /** Of those whose events are kept no longer; these count as gone from here on. */
  takePastEvents(wish: { now: number; limit: number }): Promise<readonly string[]>;

  /** The operator's: of a conversation, also a deleted one, in the order of their ids. */
  listOfConversation(
    conversation: string,
    page: { readonly after?: string | undefined; readonly limit: number },
  ): Promise<readonly RunLink[]>;
  /** Anybody's that were made before, the oldest first. */
  listOlder(wish: { before: number; limit: number }): Promise<readonly RunLink[]>;
  /** Anybody's, in the order of their ids. */
  list(filter: {
    readonly region?: Place['region'] | undefined;
    readonly workspace?: string | undefined;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly RunLink[]>;
}

const LINK = [
  'id',
  'region',
  'workspace',
  'key_id',
  'state',
  'attempt',
  'is_streamed',
  'last_sequence',
  'event_chars',
  'events_until',
  'conversation_id',
  'previous_id',
  'created_at',
  'ended_at',
] as const;

export function createBackgroundStore(db: Kysely<Database>, run: Run): BackgroundStore {
  return {
    insert: (record) =>
      run(async () => {
        await db.insertInto('background_runs').values(encode(record)).execute();
      }),
    countUnfinished: (keyId) =>
      run(async () => {
        const row = await db
          .selectFrom('background_runs')
          .select(({ fn }) => fn.countAll().as('count'))
          .where('key_id', '=', keyId)
          .where('ended_at', 'is', null)
          .executeTakeFirstOrThrow();
        return Number(row.count);
      }),
    find: ({ region, workspace }, id) =>
      run(async () => {
        const row = await db
          .selectFrom('background_runs')
          .selectAll()
          .where('id', '=', id)
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .executeTakeFirst();
        return row && decode(row);
      }),
    findState: (id) =>
      run(async () => {
        const row = await db.selectFrom('background_runs').select(LINK).where('id', '=', id).executeTakeFirst();
        return row && decodeLink(row);
      }),
    findAnywhere: (id) =>
      run(async () => {
        const row = await db.selectFrom('background_runs').selectAll().where('id', '=', id).executeTakeFirst();
        return row && decode(row);
      }),
    advance: (id, { attempt, isBegin = false, state, json, events, end }) =>
      run(async () => {
        let update = db
          .updateTable('background_runs')
          .set(({ eb }) => ({
            state,
            ...(isBegin && attempt !== undefined ? { attempt } : {}),
            ...(json === undefined ? {} : { json }),
            ...(events
              ? {
                  last_sequence: events.first + events.count - 1,
                  event_chars: eb('event_chars', '+', events.chars),
                }
              : {}),
            ...(end ? { ended_at: end.at, events_until: end.eventsUntil ?? null, body: null } : {}),
            // `responses` has it.
            ...(state === 'completed' || state === 'incomplete' ? { json: null } : {}),
          }))
          .where('id', '=', id)
          .where('ended_at', 'is', null);
        if (attempt !== undefined) update = update.where('attempt', isBegin ? '<' : '=', attempt);
        if (events) update = update.where('last_sequence', '=', events.first - 1);
        return (await update.returning('id').executeTakeFirst()) !== undefined;
      }),
    remove: ({ region, workspace }, id) =>
      run(async () => {
        const row = await db
          .deleteFrom('background_runs')
          .where('id', '=', id)
          .where('region', '=', region)
          .where('workspace', '=', workspace)
          .returning('id')
          .executeTakeFirst();
        return row !== undefined;
      }),
    takePastEvents: ({ now, limit }) =>
      run(async () => {
        const past = db.selectFrom('background_runs').select('id').where('events_until', '<', now).limit(limit);
        const rows = await db
          .updateTable('background_runs')
          .set({ events_until: null })
          .where('id', 'in', past)
          .returning('id')
          .execute();
        return rows.map(({ id }) => id);
      }),
    listOfConversation: (conversation, { after, limit }) =>
      run(async () => {
        let query = db
          .selectFrom('background_runs')
          .select(LINK)
          .where('conversation_id', '=', conversation)
          .orderBy('id')
          .limit(limit);
        if (after !== undefined) query = query.where('id', '>', after);
        return (await query.execute()).map(decodeLink);
      }),
    listOlder: ({ before, limit }) =>
      run(async () => {
        const rows = await db
          .selectFrom('background_runs')
          .select(LINK)
          .where('created_at', '<', before)
          .orderBy('created_at')
          .limit(limit)
          .execute();
        return rows.map(decodeLink);
      }),
    list: ({ region, workspace, after, limit }) =>
      run(async () => {
        let query = db.selectFrom('background_runs').select(LINK).orderBy('id').limit(limit);
        if (region !== undefined) query = query.where('region', '=', region);
        if (workspace !== undefined) query = query.where('workspace', '=', workspace);
        if (after !== undefined) query = query.where('id', '>', after);
        return (await query.execute()).map(decodeLink);
      }),
  };
}

const encode = (record: RunRecord): BackgroundRunsTable => ({
  id: record.id,
  region: record.region,
  workspace: record.workspace,
  key_id: record.keyId,
  state: record.state,
  attempt: record.attempt,
  is_streamed: record.isStreamed ? 1 : 0,
  last_sequence: record.lastSequence,
  event_chars: record.eventChars,
  events_until: record.eventsUntil ?? null,
  conversation_id: record.conversation ?? null,
  previous_id: record.previous ?? null,
  created_at: record.createdAt,
  ended_at: record.endedAt ?? null,
  json: record.json ?? null,
  body: record.body ?? null,
});

const decode = (row: Selectable<BackgroundRunsTable>): RunRecord => ({
  ...decodeLink(row),
  json: row.json ?? undefined,
  body: row.body ?? undefined,
});

const decodeLink = (row: Omit<Selectable<BackgroundRunsTable>, 'json' | 'body'>): RunLink => ({
  id: row.id,
  region: row.region,
  workspace: row.workspace,
  keyId: row.key_id,
  state: row.state,
  attempt: row.attempt,
  isStreamed: row.is_streamed === 1,
  lastSequence: row.last_sequence,
  eventChars: row.event_chars,
  eventsUntil: row.events_until ?? undefined,
  conversation: row.conversation_id ?? undefined,
  previous: row.previous_id ?? undefined,
  createdAt: row.created_at,
  endedAt: row.ended_at ?? undefined,
});
