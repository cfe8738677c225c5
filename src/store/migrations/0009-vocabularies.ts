import type { Migration } from '../migrate.ts';

export const vocabularies: Migration = {
  name: '0009-vocabularies',
  async up({ schema }) {
    await schema
      .createTable('vocabularies')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('prefix', 'text', (column) => column.notNull())
      .addColumn('target_model', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('modified_at', 'bigint', (column) => column.notNull())
      // Last column: queries that skip it do not read the overflow pages of long lists.
      .addColumn('entries', 'text', (column) => column.notNull())
      .execute();
    await schema
      .createIndex('vocabularies_sorted')
      .on('vocabularies')
      .columns(['region', 'workspace', 'created_at', 'id'])
      .execute();
    await schema
      .createTable('vocabulary_places')
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('vocabulary_places_place', ['region', 'workspace'])
      .execute();
  },
};
