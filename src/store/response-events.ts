import type { Kysely } from 'kysely';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';

/** Events as they are told, text by text, numbered without gaps. */
export interface EventChunk {
  /** Number of the first of them. */
  readonly first: number;
  readonly texts: readonly string[];
}

/** Whose they are stands in `background_runs`: whoever reads or writes here has looked there. */
export interface ResponseEventStore {
  insert(response: string, chunk: EventChunk): Promise<void>;
  /** In order, from the chunk that has the event `from` on. */
  read(response: string, wish: { readonly from: number; readonly chunksMax: number }): Promise<readonly EventChunk[]>;
  clear(responses: readonly string[]): Promise<void>;
}

export function createResponseEventStore(db: Kysely<Database>, run: Run): ResponseEventStore {
  return {
    insert: (response, { first, texts }) =>
      run(async () => {
        const text = JSON.stringify(texts);
        await db.insertInto('response_events').values({ response_id: response, first, text }).execute();
      }),
    read: (response, { from, chunksMax }) =>
      run(async () => {
        const rows = await db
          .selectFrom('response_events')
          .select(['first', 'text'])
          .where('response_id', '=', response)
          .where('first', '>=', (eb) =>
            eb
              .selectFrom('response_events')
              .select(({ fn, val }) => fn.coalesce(fn.max('first'), val(0)).as('begin'))
              .where('response_id', '=', response)
              .where('first', '<=', from),
          )
          .orderBy('first')
          .limit(chunksMax)
          .execute();
        return rows.map(({ first, text }) => ({ first, texts: JSON.parse(text) as EventChunk['texts'] }));
      }),
    clear: (responses) =>
      run(async () => {
        if (responses.length === 0) return;
        await db
          .deleteFrom('response_events')
          .where('response_id', 'in', [...responses])
          .execute();
      }),
  };
}
