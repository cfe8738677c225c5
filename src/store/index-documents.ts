import type { Kysely } from 'kysely';
import type { FullTextIndex } from './dialects/full-text.ts';
import type { Database } from './schema/database.ts';

export interface IndexPassage {
  readonly text: string;
  /** Search terms in order, with repetitions: letters and digits. */
  readonly terms: readonly string[];
}

/** A document and its search terms. Times are UTC milliseconds. */
export interface IndexDocument {
  readonly collection: string;
  /** URL or path of the document, unique within the collection. */
  readonly reference: string;
  /** URL shown in search results: http(s) or `parley-index:`. */
  readonly url: string;
  /** Host of the URL, '' without one. */
  readonly host: string;
  readonly title: string;
  readonly siteName: string;
  readonly icon: string;
  /** Undefined if unknown. */
  readonly publishedAt: number | undefined;
  readonly hash: string;
  readonly bytes: number;
  readonly passages: readonly IndexPassage[];
  /** Format of the terms. Each version of the code that creates other terms has a higher one. */
  readonly termFormat: number;
  readonly at: number;
}

/** A document with terms of an earlier format. */
export interface OutdatedDocument {
  readonly id: number;
  readonly collection: string;
  readonly reference: string;
  readonly url: string;
  readonly title: string;
}

/** Restricts outdated documents to a collection; without one, they are of all. `termFormat`: the current format. */
export interface OutdatedFilter {
  readonly termFormat: number;
  readonly collection?: string | undefined;
}

/** Vectors of all passages of a document in order, one signed byte per component. */
export interface IndexVectors {
  readonly model: string;
  readonly dimensions: number;
  readonly vectors: Uint8Array;
}

export interface IndexDocumentStore {
  /**
   * Inserts or replaces the document of this reference; false if the collection does not exist. Requires a transaction.
   */
  upsert(document: IndexDocument): Promise<boolean>;
  /** Lists hashes of up to `limit` documents of a collection by reference, in the order of references. */
  listHashes(
    collection: string,
    page: { readonly after: string; readonly limit: number },
  ): Promise<ReadonlyMap<string, string>>;
  /** Requires a transaction. */
  remove(collection: string, references: readonly string[]): Promise<void>;
  /** Lists documents of a collection that have no vectors of the model. */
  listWithoutVectors(
    collection: string,
    query: { readonly model: string; readonly after: number; readonly limit: number },
  ): Promise<readonly { readonly id: number; readonly title: string; readonly passages: number }[]>;
  /** Returns the texts of the document's current passages in order. */
  listPassageTexts(document: number): Promise<readonly string[]>;
  countOutdated(filter: OutdatedFilter): Promise<number>;
  /** Lists up to `limit` outdated documents with an ID above `after`, by ID. */
  listOutdated(
    filter: OutdatedFilter,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly OutdatedDocument[]>;
  /**
   * Replaces the terms of consecutive passages of a document, from the passage at the index `at`. Requires a transaction.
   * @returns false if the document was replaced or removed meanwhile.
   */
  replaceTerms(
    document: number,
    change: { readonly at: number; readonly terms: readonly (readonly string[])[] },
  ): Promise<boolean>;
  /** Records that all terms of a document have this format. */
  setTermFormat(document: number, termFormat: number): Promise<void>;
  /** Inserts or replaces vectors; does nothing if the document was replaced meanwhile. */
  setVectors(document: number, vectors: IndexVectors): Promise<void>;
}

/** Rows per statement: a row has three parameters, and databases allow tens of thousands per statement. */
const ROWS_PER_STATEMENT = 500;

export function createIndexDocumentStore(db: Kysely<Database>, fullText: FullTextIndex): IndexDocumentStore {
  const removeDocuments = async (collection: string, references: readonly string[]): Promise<void> => {
    const removed = await db
      .deleteFrom('index_documents')
      .where('collection', '=', collection)
      .where('reference', 'in', [...references])
      .returning(['id', 'first_passage as first', 'passages'])
      .execute();
    for (const { id, first, passages } of removed) {
      await fullText.remove(db, { first, last: first + passages - 1 });
      await db.deleteFrom('index_passages').where('document', '=', id).execute();
      await db.deleteFrom('index_vectors').where('document', '=', id).execute();
    }
  };

  const selectOutdated = ({ termFormat, collection }: OutdatedFilter) => {
    const outdated = db.selectFrom('index_documents').where('term_format', '<', termFormat);
    return collection === undefined ? outdated : outdated.where('collection', '=', collection);
  };

  /** Reserves `count` consecutive numbers and returns the first. */
  const reserveNumbers = async (count: number): Promise<number> => {
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
    async upsert({ collection, reference, passages, ...document }) {
      // A no-op update locks the collection: it cannot be removed until the transaction ends.
      const lockedCollection = await db
        .updateTable('index_collections')
        .set(({ ref }) => ({ name: ref('name') }))
        .where('name', '=', collection)
        .returning('name')
        .executeTakeFirst();
      if (!lockedCollection) return false;
      await removeDocuments(collection, [reference]);
      const id = await reserveNumbers(passages.length + 1);
      const first = id + 1;
      await db
        .insertInto('index_documents')
        .values({
          id,
          collection,
          reference,
          url: document.url,
          host: hostToKey(document.host),
          title: document.title,
          site_name: document.siteName,
          icon: document.icon,
          published_at: document.publishedAt ?? null,
          hash: document.hash,
          bytes: document.bytes,
          first_passage: first,
          passages: passages.length,
          indexed_at: document.at,
          term_format: document.termFormat,
        })
        .execute();
      for (let at = 0; at < passages.length; at += ROWS_PER_STATEMENT) {
        const page = passages.slice(at, at + ROWS_PER_STATEMENT);
        const rows = page.map(({ text }, index) => ({ id: first + at + index, document: id, text }));
        await db.insertInto('index_passages').values(rows).execute();
        await fullText.add(
          db,
          page.map(({ terms }, index) => ({ passage: first + at + index, terms })),
        );
      }
      return true;
    },
    async listHashes(collection, { after, limit }) {
      const rows = await db
        .selectFrom('index_documents')
        .select(['reference', 'hash'])
        .where('collection', '=', collection)
        .where('reference', '>', after)
        .orderBy('reference')
        .limit(limit)
        .execute();
      return new Map(rows.map(({ reference, hash }) => [reference, hash]));
    },
    async remove(collection, references) {
      if (references.length > 0) await removeDocuments(collection, references);
    },
    async listWithoutVectors(collection, { model, after, limit }) {
      const rows = await db
        .selectFrom('index_documents')
        .leftJoin('index_vectors', (join) =>
          join.onRef('index_vectors.document', '=', 'index_documents.id').on('index_vectors.model', '=', model),
        )
        .select(['index_documents.id', 'title', 'passages'])
        .where('collection', '=', collection)
        .where('index_documents.id', '>', after)
        .where('index_vectors.document', 'is', null)
        .orderBy('index_documents.id')
        .limit(limit)
        .execute();
      return rows.map((row) => ({ ...row }));
    },
    async listPassageTexts(document) {
      const rows = await db
        .selectFrom('index_passages')
        .select('text')
        .where('document', '=', document)
        .orderBy('id')
        .execute();
      return rows.map(({ text }) => text);
    },
    async countOutdated(filter) {
      const { documents } = await selectOutdated(filter)
        .select(({ fn }) => fn.countAll().as('documents'))
        .executeTakeFirstOrThrow();
      return Number(documents);
    },
    async listOutdated(filter, { after, limit }) {
      const rows = await selectOutdated(filter)
        .select(['id', 'collection', 'reference', 'url', 'title'])
        .where('id', '>', after)
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map((row) => ({ ...row }));
    },
    async replaceTerms(document, { at, terms }) {
      // A no-op update locks the document: it cannot be replaced or removed until the transaction ends.
      const locked = await db
        .updateTable('index_documents')
        .set(({ ref }) => ({ hash: ref('hash') }))
        .where('id', '=', document)
        .returning('first_passage')
        .executeTakeFirst();
      if (!locked) return false;
      const first = locked.first_passage + at;
      await fullText.remove(db, { first, last: first + terms.length - 1 });
      await fullText.add(
        db,
        terms.map((each, index) => ({ passage: first + index, terms: each })),
      );
      return true;
    },
    async setTermFormat(document, termFormat) {
      await db.updateTable('index_documents').set({ term_format: termFormat }).where('id', '=', document).execute();
    },
    async setVectors(document, { model, dimensions, vectors }) {
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
    },
  };
}

/**
 * Reverses the labels of a host: `www.example.com` → `com.example.www.`, so that a host is a prefix of its subdomains.
 */
export const hostToKey = (host: string): string =>
  host === '' ? '' : `${host.toLowerCase().replace(/\.$/, '').split('.').toReversed().join('.')}.`;
