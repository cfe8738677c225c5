import type { Migration } from '../migrate.ts';

export const searchIndex: Migration = {
  name: '0011-search-index',
  async up(db, { bytesType, fullText }) {
    const { schema } = db;
    await schema
      .createTable('index_collections')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('sources', 'text', (column) => column.notNull())
      .addColumn('domain', 'text')
      .addColumn('workspace', 'text')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('refreshed_at', 'bigint')
      .execute();
    await schema
      .createTable('index_documents')
      // On SQLite only `integer` makes the primary key an alias of the row ID.
      .addColumn('id', bytesType === 'blob' ? 'integer' : 'bigint', (column) => column.primaryKey())
      .addColumn('collection', 'text', (column) => column.notNull())
      .addColumn('reference', 'text', (column) => column.notNull())
      .addColumn('url', 'text', (column) => column.notNull())
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('title', 'text', (column) => column.notNull())
      .addColumn('site_name', 'text', (column) => column.notNull())
      .addColumn('icon', 'text', (column) => column.notNull())
      .addColumn('published_at', 'bigint')
      .addColumn('hash', 'text', (column) => column.notNull())
      .addColumn('bytes', 'bigint', (column) => column.notNull())
      .addColumn('first_passage', 'bigint', (column) => column.notNull())
      .addColumn('passages', 'integer', (column) => column.notNull())
      .addColumn('indexed_at', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('index_documents_reference', ['collection', 'reference'])
      .execute();
    await schema
      .createTable('index_passages')
      .addColumn('id', bytesType === 'blob' ? 'integer' : 'bigint', (column) => column.primaryKey())
      .addColumn('document', 'bigint', (column) => column.notNull())
      // Last column: queries that skip it do not read the overflow pages of long texts.
      .addColumn('text', 'text', (column) => column.notNull())
      .execute();
    await schema.createIndex('index_passages_document').on('index_passages').column('document').execute();
    await schema
      .createTable('index_vectors')
      .addColumn('document', bytesType === 'blob' ? 'integer' : 'bigint', (column) => column.primaryKey())
      .addColumn('model', 'text', (column) => column.notNull())
      .addColumn('dimensions', 'integer', (column) => column.notNull())
      .addColumn('vectors', bytesType, (column) => column.notNull())
      .execute();
    await fullText.create(db);
  },
};
