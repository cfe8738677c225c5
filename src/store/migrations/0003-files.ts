import type { Migration } from '../migrate.ts';

export const files: Migration = {
  name: '0003-files',
  async up({ schema }) {
    await schema
      .createTable('files')
      .addColumn('blob', 'text', (column) => column.primaryKey())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('key_id', 'text', (column) => column.notNull())
      .addColumn('bytes', 'bigint', (column) => column.notNull())
      .addColumn('lease_until', 'bigint')
      .addColumn('changed_at', 'bigint', (column) => column.notNull())
      .addColumn('id', 'text', (column) => column.unique())
      .addColumn('sort_key', 'text')
      .addColumn('number', 'bigint')
      .addColumn('name', 'text')
      .addColumn('description', 'text')
      .addColumn('purpose', 'text')
      .addColumn('md5', 'text')
      .addColumn('created_at', 'bigint')
      .execute();
    await schema.createIndex('files_sorted').on('files').columns(['region', 'workspace', 'sort_key']).execute();
    await schema
      .createIndex('files_purpose')
      .on('files')
      .columns(['region', 'workspace', 'purpose', 'sort_key'])
      .execute();
    await schema.createIndex('files_lease').on('files').column('lease_until').execute();
    await schema
      .createTable('file_totals')
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('files', 'bigint', (column) => column.notNull())
      .addColumn('bytes', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('file_totals_place', ['region', 'workspace'])
      .execute();
    await schema
      .createTable('file_counts')
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('purpose', 'text', (column) => column.notNull())
      .addColumn('files', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('file_counts_place', ['region', 'workspace', 'purpose'])
      .execute();
    await schema
      .createTable('sequences')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('last', 'bigint', (column) => column.notNull())
      .execute();
  },
};
