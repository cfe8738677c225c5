import type { Migration } from '../migrate.ts';

export const jobs: Migration = {
  name: '0004-jobs',
  async up({ schema }) {
    await schema
      .createTable('jobs')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('key_id', 'text', (column) => column.notNull())
      .addColumn('payload', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('priority', 'integer', (column) => column.notNull())
      .addColumn('attempt', 'integer', (column) => column.notNull())
      .addColumn('tries', 'integer', (column) => column.notNull())
      .addColumn('tries_left', 'integer', (column) => column.notNull())
      .addColumn('due_at', 'bigint')
      .addColumn('lease_owner', 'text')
      .addColumn('is_cancelled', 'integer', (column) => column.notNull())
      .addColumn('progress', 'text')
      .addColumn('error', 'text')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('started_at', 'bigint')
      .addColumn('ended_at', 'bigint')
      .execute();
    await schema.createIndex('jobs_subject').unique().on('jobs').columns(['kind', 'subject']).execute();
    // Partial index in queue order, without ended jobs: a poll reads only the jobs it claims, however many wait.
    await schema
      .createIndex('jobs_turn')
      .on('jobs')
      .columns(['priority', 'due_at', 'id'])
      .where('due_at', 'is not', null)
      .execute();
    await schema.createIndex('jobs_ended').on('jobs').column('ended_at').execute();
  },
};
