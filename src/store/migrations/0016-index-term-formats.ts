import type { Migration } from '../migrate.ts';

/** Documents that were indexed before have terms of format 1, which the search index updates from their passages. */
export const indexTermFormats: Migration = {
  name: '0016-index-term-formats',
  async up({ schema }) {
    await schema
      .alterTable('index_documents')
      .addColumn('term_format', 'integer', (column) => column.notNull().defaultTo(1))
      .execute();
  },
};
