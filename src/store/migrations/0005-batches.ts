import type { Migration } from '../migrate.ts';

export const batches: Migration = {
  name: '0005-batches',
  async up({ schema }) {
    await schema
      .createTable('batches')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('key_id', 'text', (column) => column.notNull())
      .addColumn('endpoint', 'text', (column) => column.notNull())
      .addColumn('input_file_id', 'text', (column) => column.notNull())
      .addColumn('input_blob', 'text', (column) => column.notNull())
      .addColumn('completion_window', 'text', (column) => column.notNull())
      .addColumn('window_ms', 'bigint', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('ends_as', 'text')
      .addColumn('metadata', 'text', (column) => column.notNull())
      .addColumn('name_folded', 'text', (column) => column.notNull())
      .addColumn('model', 'text')
      .addColumn('errors', 'text')
      .addColumn('output_blob', 'text', (column) => column.notNull())
      .addColumn('error_blob', 'text', (column) => column.notNull())
      .addColumn('output_file_id', 'text')
      .addColumn('error_file_id', 'text')
      .addColumn('total', 'integer', (column) => column.notNull())
      .addColumn('completed', 'integer', (column) => column.notNull())
      .addColumn('failed', 'integer', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('in_progress_at', 'bigint')
      .addColumn('expires_at', 'bigint')
      .addColumn('finalizing_at', 'bigint')
      .addColumn('cancelling_at', 'bigint')
      .addColumn('ended_at', 'bigint')
      .addColumn('lines_until', 'bigint')
      .execute();
    await schema.createIndex('batches_sorted').on('batches').columns(['region', 'workspace', 'id']).execute();
    await schema.createIndex('batches_input').on('batches').column('input_file_id').execute();
    await schema.createIndex('batches_lines').on('batches').column('lines_until').execute();
    await schema
      .createTable('batch_lines')
      .addColumn('batch', 'text', (column) => column.notNull())
      .addColumn('line', 'integer', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('json', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('batch_lines_place', ['batch', 'line'])
      .execute();
    // Reservations in `files` for batch results: they last until their batch ends.
    await schema.alterTable('files').addColumn('held_for', 'text').execute();
  },
};
