import type { ExpressionBuilder, Kysely, Selectable } from 'kysely';
import type { TenantScope } from './tenant-scope.ts';
import { findById, findOwned, removeOwned } from './owned-by.ts';
import { createResponseListing, type ResponseListing } from './response-listing.ts';
import type { BackgroundRunsTable } from './schema/background.ts';
import { hasRow, listIds, readCount } from './row-queries.ts';
import { decodeRow, encodeRow } from './row-codec.ts';
import type { Database } from './schema/database.ts';

export type BackgroundRunState = BackgroundRunsTable['state'];

/** Metadata of a background response run, without its texts. Times are UTC milliseconds. */
export interface BackgroundRunSummary extends TenantScope {
  readonly id: string;
  readonly keyId: string;
  readonly state: BackgroundRunState;
  /** Number of the job attempt that owns the run; 0 before the first. */
  readonly attempt: number;
  readonly isStreamed: boolean;
  /** Sequence number of the last stored event; -1 without events. */
  readonly lastSequence: number;
  /** Total length of all stored events in UTF-16 code units. */
  readonly eventChars: number;
  /** Time until which the events are kept; undefined before the end and after the events are removed. */
  readonly eventsUntil: number | undefined;
  readonly conversation: string | undefined;
  readonly previous: string | undefined;
  readonly createdAt: number;
  readonly endedAt: number | undefined;
}

export interface BackgroundRunRecord extends BackgroundRunSummary {
  /** Latest response object; undefined if the table `responses` holds the response. */
  readonly json: string | undefined;
  /** JSON of the request; undefined once the run has ended. */
  readonly body: string | undefined;
}

/** Change of a run. */
export interface BackgroundRunUpdate {
  /** Attempt that makes the change: ignored unless it owns the run. Undefined: applies whichever attempt owns it. */
  readonly attempt?: number | undefined;
  /** Whether this attempt takes the run over from older attempts. */
  readonly isStart?: boolean;
  readonly state: BackgroundRunState;
  /** Undefined: unchanged. */
  readonly json?: string | undefined;
  /** New events: nothing is changed unless `first` directly follows the last stored event. */
  readonly events?: { readonly first: number; readonly count: number; readonly chars: number } | undefined;
  /** Set if the change ends the run. */
  readonly completion?: { readonly at: number; readonly eventsUntil: number | undefined } | undefined;
}

/** Runs of background responses. */
export interface BackgroundStore extends ResponseListing<BackgroundRunSummary> {
  insert(record: BackgroundRunRecord): Promise<void>;
  /** Counts the unfinished runs of an API key. */
  countUnfinished(keyId: string): Promise<number>;
  find(scope: TenantScope, id: string): Promise<BackgroundRunRecord | undefined>;
  /** Finds a run of any tenant, without its request and response. */
  findSummary(id: string): Promise<BackgroundRunSummary | undefined>;
  findInAnyTenant(id: string): Promise<BackgroundRunRecord | undefined>;
  /**
   * Returns false if the run has ended, does not exist, or is not in the expected state. The end removes the request.
   */
  update(id: string, step: BackgroundRunUpdate): Promise<boolean>;
  remove(scope: TenantScope, id: string): Promise<boolean>;
  /** Returns runs whose events have expired and marks the events as removed; the caller then removes them. */
  takeRunsWithExpiredEvents(query: { now: number; limit: number }): Promise<readonly string[]>;
}

const SUMMARY_COLUMNS = [
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

export function createBackgroundStore(db: Kysely<Database>): BackgroundStore {
  const summaries = db.selectFrom('background_runs').select(SUMMARY_COLUMNS);
  // A run with an answer is removed together with the response.
  const hasNoAnswer = ({ not, exists, selectFrom }: ExpressionBuilder<Database, 'background_runs'>) =>
    not(exists(selectFrom('responses').select('responses.id').whereRef('responses.id', '=', 'background_runs.id')));
  return {
    async insert(record) {
      await db.insertInto('background_runs').values(encode(record)).execute();
    },
    async countUnfinished(keyId) {
      return readCount(
        db
          .selectFrom('background_runs')
          .select(({ fn }) => fn.countAll().as('count'))
          .where('key_id', '=', keyId)
          .where('ended_at', 'is', null),
      );
    },
    async find(scope, id) {
      const row = await findOwned(db, 'background_runs', scope, id);
      return row && decode(row);
    },
    async findSummary(id) {
      const row = await db
        .selectFrom('background_runs')
        .select(SUMMARY_COLUMNS)
        .where('id', '=', id)
        .executeTakeFirst();
      return row && decodeSummary(row);
    },
    async findInAnyTenant(id) {
      const row = await findById(db, 'background_runs', id);
      return row && decode(row);
    },
    async update(id, { attempt, isStart = false, state, json, events, completion }) {
      let update = db
        .updateTable('background_runs')
        .set(({ eb }) => ({
          state,
          ...(isStart && attempt !== undefined ? { attempt } : {}),
          ...(json === undefined ? {} : { json }),
          ...(events
            ? {
                last_sequence: events.first + events.count - 1,
                event_chars: eb('event_chars', '+', events.chars),
              }
            : {}),
          ...(completion ? { ended_at: completion.at, events_until: completion.eventsUntil ?? null, body: null } : {}),
          // The table `responses` holds the final response.
          ...(state === 'completed' || state === 'incomplete' ? { json: null } : {}),
        }))
        .where('id', '=', id)
        .where('ended_at', 'is', null);
      if (attempt !== undefined) update = update.where('attempt', isStart ? '<' : '=', attempt);
      if (events) update = update.where('last_sequence', '=', events.first - 1);
      return hasRow(update.returning('id'));
    },
    remove: (scope, id) => removeOwned(db, 'background_runs', scope, id),
    async takeRunsWithExpiredEvents({ now, limit }) {
      const past = db.selectFrom('background_runs').select('id').where('events_until', '<', now).limit(limit);
      return listIds(
        db.updateTable('background_runs').set({ events_until: null }).where('id', 'in', past).returning('id'),
      );
    },
    ...createResponseListing(summaries, summaries.where(hasNoAnswer), decodeSummary),
  };
}

const encode = ({ isStreamed, conversation, previous, ...record }: BackgroundRunRecord): BackgroundRunsTable => ({
  ...encodeRow(record),
  is_streamed: isStreamed ? 1 : 0,
  conversation_id: conversation ?? null,
  previous_id: previous ?? null,
});

const decode = ({ json, body, ...summary }: Selectable<BackgroundRunsTable>): BackgroundRunRecord => ({
  ...decodeSummary(summary),
  ...decodeRow({ json, body }),
});

const decodeSummary = ({
  is_streamed: isStreamed,
  conversation_id: conversation,
  previous_id: previous,
  ...row
}: Omit<Selectable<BackgroundRunsTable>, 'json' | 'body'>): BackgroundRunSummary => ({
  ...decodeRow({ ...row, conversation, previous }),
  isStreamed: isStreamed === 1,
});
