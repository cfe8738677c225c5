import type { ExpressionBuilder, Kysely, Selectable } from 'kysely';
import type { TenantScope } from './tenant-scope.ts';
import { findOwned, ownedBy, removeOwned } from './owned-by.ts';
import { createResponseListing, type ResponseListing } from './response-listing.ts';
import { decodeRow, encodeRow } from './row-codec.ts';
import type { Database } from './schema/database.ts';
import type { ResponsesTable } from './schema/responses.ts';

export interface ResponseRecord extends TenantScope {
  readonly id: string;
  /** UTC milliseconds. */
  readonly createdAt: number;
  /**
   * Conversation of the response and the position of its first item there; the conversation may have been deleted
   * since.
   */
  readonly conversation?: { readonly id: string; readonly from: number | undefined } | undefined;
  /** ID of the previous response. */
  readonly previous?: string | undefined;
  /** Number of input and output items. */
  readonly itemCount: number;
  readonly itemBytes: number;
  readonly json: string;
}

/** Metadata of a response, without the response object. */
export type ResponseSummary = Omit<ResponseRecord, 'json'>;

export interface ResponseStore extends ResponseListing<ResponseSummary> {
  insert(record: ResponseRecord): Promise<void>;
  find(scope: TenantScope, id: string): Promise<ResponseRecord | undefined>;
  /**
   * Lists the response, its previous response, and so on, at most `linksMax`. If fewer are returned and the last one
   * still names a previous response, that response does not exist.
   */
  listChain(scope: TenantScope, id: string, linksMax: number): Promise<readonly ResponseSummary[]>;
  /** Removes the response, but not its items. */
  remove(scope: TenantScope, id: string): Promise<boolean>;
}

const SUMMARY_COLUMNS = [
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

export function createResponseStore(db: Kysely<Database>): ResponseStore {
  const chain = async (scope: TenantScope, id: string, linksMax: number): Promise<readonly ResponseSummary[]> => {
    const rows = await db
      .withRecursive('chain', (recursion) =>
        recursion
          .selectFrom('responses')
          .where('id', '=', id)
          .where(ownedBy(scope))
          .select(SUMMARY_COLUMNS)
          .select((eb) => eb.lit(1).as('depth'))
          .unionAll(
            recursion
              .selectFrom('chain')
              .innerJoin('responses', 'responses.id', 'chain.previous_id')
              .where('responses.region', '=', scope.region)
              .where('responses.workspace', '=', scope.workspace)
              .where('chain.depth', '<', linksMax)
              .select(SUMMARY_COLUMNS.map((column) => `responses.${column}` as const))
              .select((eb) => eb('chain.depth', '+', eb.lit(1)).as('depth')),
          ),
      )
      .selectFrom('chain')
      .select(SUMMARY_COLUMNS)
      .orderBy('depth')
      .execute();
    return rows.map(decodeSummary);
  };

  const summaries = db.selectFrom('responses').select(SUMMARY_COLUMNS);
  // A later response needs its previous one as its history, however old that is.
  const isLast = ({ not, exists, selectFrom }: ExpressionBuilder<Database, 'responses'>) =>
    not(exists(selectFrom('responses as later').select('later.id').whereRef('later.previous_id', '=', 'responses.id')));
  return {
    async insert(record) {
      await db.insertInto('responses').values(encode(record)).execute();
    },
    async find(scope, id) {
      const row = await findOwned(db, 'responses', scope, id);
      return row && decode(row);
    },
    listChain: chain,
    remove: (scope, id) => removeOwned(db, 'responses', scope, id),
    ...createResponseListing(summaries, summaries.where(isLast), decodeSummary),
  };
}

const encode = ({ conversation, previous, ...record }: ResponseRecord): ResponsesTable => ({
  ...encodeRow(record),
  conversation_id: conversation?.id ?? null,
  conversation_from: conversation?.from ?? null,
  previous_id: previous ?? null,
});

const decode = ({ json, ...summary }: Selectable<ResponsesTable>): ResponseRecord => ({
  ...decodeSummary(summary),
  json,
});

const decodeSummary = ({
  conversation_id: id,
  conversation_from: from,
  previous_id: previous,
  ...row
}: Omit<Selectable<ResponsesTable>, 'json'>): ResponseSummary => ({
  ...decodeRow({ ...row, previous }),
  conversation: id === null ? undefined : { id, from: from ?? undefined },
});
