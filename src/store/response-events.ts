import type { Kysely } from 'kysely';
import type { Database } from './schema/database.ts';

/** Encoded events of a response, numbered without gaps. */
export interface ResponseEventChunk {
  /** Sequence number of the first event. */
  readonly first: number;
  readonly texts: readonly string[];
}

/** Stored events. The owner is recorded in `background_runs`: callers check it there first. */
export interface ResponseEventStore {
  insert(response: string, chunk: ResponseEventChunk): Promise<void>;
  /** Reads chunks in order, starting with the chunk that contains event `from`. */
  read(
    response: string,
    query: { readonly from: number; readonly chunksMax: number },
  ): Promise<readonly ResponseEventChunk[]>;
  removeAll(responses: readonly string[]): Promise<void>;
}

export function createResponseEventStore(db: Kysely<Database>): ResponseEventStore {
  return {
    async insert(response, { first, texts }) {
      const text = JSON.stringify(texts);
      await db.insertInto('response_events').values({ response_id: response, first, text }).execute();
    },
    async read(response, { from, chunksMax }) {
      const rows = await db
        .selectFrom('response_events')
        .select(['first', 'text'])
        .where('response_id', '=', response)
        .where('first', '>=', (eb) =>
          eb
            .selectFrom('response_events')
            .select(({ fn, val }) => fn.coalesce(fn.max('first'), val(0)).as('start'))
            .where('response_id', '=', response)
            .where('first', '<=', from),
        )
        .orderBy('first')
        .limit(chunksMax)
        .execute();
      return rows.map(({ first, text }) => ({ first, texts: JSON.parse(text) as ResponseEventChunk['texts'] }));
    },
    async removeAll(responses) {
      if (responses.length === 0) return;
      await db
        .deleteFrom('response_events')
        .where('response_id', 'in', [...responses])
        .execute();
    },
  };
}
