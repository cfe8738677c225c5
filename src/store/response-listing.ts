import { expressionBuilder, type SelectQueryBuilder } from 'kysely';
import { type IdPageQuery, pageById } from './page-by-id.ts';
import type { Database } from './schema/database.ts';

/** Lists of stored responses, or of background runs, for the operator and for retention. */
export interface ResponseListing<Summary> {
  /** For the operator: lists those of a conversation, even a deleted one, in the order of their IDs. */
  listByConversation(conversation: string, page: Pick<IdPageQuery, 'after' | 'limit'>): Promise<readonly Summary[]>;
  /** Lists those of all tenants that were created before `before` and that nothing stored needs, oldest first. */
  listUnneededBefore(query: { before: number; limit: number }): Promise<readonly Summary[]>;
  /** Lists those of all tenants in the order of their IDs. */
  list(page: IdPageQuery): Promise<readonly Summary[]>;
}

const rows = expressionBuilder<{ rows: { conversation_id: string; created_at: number } }, 'rows'>();

/** Creates the lists of a table from a query of its summaries. `unneeded` selects those that nothing stored needs. */
export function createResponseListing<T extends 'responses' | 'background_runs', Row, Summary>(
  summaries: SelectQueryBuilder<Database, T, Row>,
  unneeded: SelectQueryBuilder<Database, T, Row>,
  decode: (row: Row) => Summary,
): ResponseListing<Summary> {
  const read = async (query: SelectQueryBuilder<Database, T, Row>): Promise<readonly Summary[]> => {
    const found = await query.execute();
    return found.map((row) => decode(row as Row));
  };
  return {
    listByConversation: (conversation, { after, limit }) =>
      read(pageById(summaries.where(rows('conversation_id', '=', conversation)), { after, limit })),
    listUnneededBefore: ({ before, limit }) =>
      read(
        unneeded
          .where(rows('created_at', '<', before))
          .orderBy(rows.ref('created_at'))
          .limit(limit),
      ),
    list: (page) => read(pageById(summaries, page)),
  };
}
