import type { Kysely } from 'kysely';
import type { FullText } from './dialects/full-text.ts';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';

export interface IndexPassage {
  readonly text: string;
  /** What it is found by, in order and as often as it occurs; letters and digits. */
  readonly terms: readonly string[];
}

/** A document that was read, and what it is found by. Times are UTC milliseconds. */
export interface IndexDocument {
  readonly collection: string;
  /** Its address, or its path within the collection: once each. */
  readonly reference: string;
  /** What an answer names: http(s) or `parley-index:`. */
  readonly url: string;
  /** Of its address, '' without one. */
  readonly host: string;
  readonly title: string;
  readonly siteName: string;
  readonly icon: string;
  /** Absent: nobody knows. */
  readonly publishedAt: number | undefined;
  readonly hash: string;
  readonly bytes: number;
  readonly passages: readonly IndexPassage[];
  readonly at: number;
}

/** The vectors of all passages of a document, in their order, a signed byte for each component. */
export interface IndexVectors {
  readonly model: string;
  readonly dimensions: number;
  readonly vectors: Uint8Array;
}

export interface IndexDocumentStore {
  /** A new one, or in the place of the one of that reference. False where its collection is not there. In a transaction only. */
  put(document: IndexDocument): Promise<boolean>;
  /** Hashes by reference, of up to `limit` of a collection, in the order of references. */
  hashes(
    collection: string,
    page: { readonly after: string; readonly limit: number },
  ): Promise<ReadonlyMap<string, string>>;
  /** In a transaction only. */
  remove(collection: string, references: readonly string[]): Promise<void>;
  /** Of a collection, those that have no vectors of that model: id and texts. */
  withoutVectors(
    collection: string,
    wish: { readonly model: string; readonly after: number; readonly limit: number },
  ): Promise<readonly { readonly id: number; readonly firstPassage: number; readonly passages: number }[]>;
  /** Of a document as it is now, in their order. */
  textsOf(document: number): Promise<readonly string[]>;
  /** In the place of older ones; of no effect where the document was replaced meanwhile. */
  setVectors(document: number, vectors: IndexVectors): Promise<void>;
}

/** Rows of one statement: each takes three parameters, of which databases allow tens of thousands. */
const ROWS_AT_ONCE = 500;

export function createIndexDocumentStore(db: Kysely<Database>, run: Run, fullText: FullText): IndexDocumentStore {
  const removeOf = async (collection: string, references: readonly string[]): Promise<void> => {
    const gone = await db
      .deleteFrom('index_documents')
      .where('collection', '=', collection)
      .where('reference', 'in', [...references])
      .returning(['id', 'first_passage as first', 'passages'])
      .execute();
    for (const { id, first, passages } of gone) {
      await fullText.remove(db, { first, last: first + passages - 1 });
      await db.deleteFrom('index_passages').where('document', '=', id).execute();
      await db.deleteFrom('index_vectors').where('document', '=', id).execute();
    }
  };

  /** The first of so many numbers that nobody else has. */
  const numbers = async (count: number): Promise<number> => {
    const { last } = await db
      .insertInto('sequences')
      .values({ name: 'search-index', last: count })
      .onConflict((conflict) =>
        conflict.column('name').doUpdateSet(({ eb }) => ({ last: eb('sequences.last', '+', count) })),
      )
      .returning('last')
      .executeTakeFirstOrThrow();
    return last - count + 1;
  };

  return {
    put: ({ collection, reference, passages, ...document }) =>
      run(async () => {
        // A change that changes nothing: nobody removes the collection until the transaction ends.
        const holder = await db
          .updateTable('index_collections')
          .set(({ ref }) => ({ name: ref('name') }))
          .where('name', '=', collection)
          .returning('name')
          .executeTakeFirst();
        if (!holder) return false;
        await removeOf(collection, [reference]);
        const id = await numbers(passages.length + 1);
        const first = id + 1;
        await db
          .insertInto('index_documents')
          .values({
            id,
            collection,
            reference,
            url: document.url,
            host: hostKey(document.host),
            title: document.title,
            site_name: document.siteName,
            icon: document.icon,
            published_at: document.publishedAt ?? null,
            hash: document.hash,
            bytes: document.bytes,
            first_passage: first,
            passages: passages.length,
            indexed_at: document.at,
          })
          .execute();
        for (let at = 0; at < passages.length; at += ROWS_AT_ONCE) {
          const page = passages.slice(at, at + ROWS_AT_ONCE);
          const rows = page.map(({ text }, index) => ({ id: first + at + index, document: id, text }));
          await db.insertInto('index_passages').values(rows).execute();
          await fullText.add(
            db,
            page.map(({ terms }, index) => ({ passage: first + at + index, terms })),
          );
        }
        return true;
      }),
    hashes: (collection, { after, limit }) =>
      run(async () => {
        const rows = await db
          .selectFrom('index_documents')
          .select(['reference', 'hash'])
          .where('collection', '=', collection)
          .where('reference', '>', after)
          .orderBy('reference')
          .limit(limit)
          .execute();
        return new Map(rows.map(({ reference, hash }) => [reference, hash]));
      }),
    remove: (collection, references) =>
      run(async () => {
        if (references.length > 0) await removeOf(collection, references);
      }),
    withoutVectors: (collection, { model, after, limit }) =>
      run(async () => {
        const rows = await db
          .selectFrom('index_documents')
          .leftJoin('index_vectors', (join) =>
            join.onRef('index_vectors.document', '=', 'index_documents.id').on('index_vectors.model', '=', model),
          )
          .select(['index_documents.id', 'first_passage as firstPassage', 'passages'])
          .where('collection', '=', collection)
          .where('index_documents.id', '>', after)
          .where('index_vectors.document', 'is', null)
          .orderBy('index_documents.id')
          .limit(limit)
          .execute();
        return rows.map((row) => ({ ...row }));
      }),
    textsOf: (document) =>
      run(async () => {
        const rows = await db
          .selectFrom('index_passages')
          .select('text')
          .where('document', '=', document)
          .orderBy('id')
          .execute();
        return rows.map(({ text }) => text);
      }),
    setVectors: (document, { model, dimensions, vectors }) =>
      run(async () => {
        const values = { model, dimensions, vectors };
        await db
          .insertInto('index_vectors')
          .columns(['document', 'model', 'dimensions', 'vectors'])
          .expression(({ selectFrom, val }) =>
            selectFrom('index_documents')
              .select(({ ref }) => [
                ref('id').as('document'),
                val(model).as('model'),
                val(dimensions).as('dimensions'),
                val(vectors).as('vectors'),
              ])
              .where('id', '=', document),
          )
          .onConflict((conflict) => conflict.column('document').doUpdateSet(values))
          .execute();
      }),
  };
}

/** `www.example.com` -> `com.example.www.`: what is under a host begins with it. */
export const hostKey = (host: string): string =>
  host === '' ? '' : `${host.toLowerCase().replace(/\.$/, '').split('.').toReversed().join('.')}.`;
