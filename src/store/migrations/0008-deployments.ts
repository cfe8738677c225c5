import type { Migration } from '../migrate.ts';

export const deployments: Migration = {
  name: '0008-deployments',
  async up({ schema }) {
    await schema
      .createTable('deployments')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('model_name', 'text', (column) => column.notNull())
      .addColumn('base_model', 'text', (column) => column.notNull())
      .addColumn('plan', 'text', (column) => column.notNull())
      .addColumn('base_capacity', 'integer', (column) => column.notNull())
      .addColumn('capacity', 'integer', (column) => column.notNull())
      .addColumn('ready_capacity', 'integer', (column) => column.notNull())
      .addColumn('ptu', 'text')
      .addColumn('rpm_limit', 'bigint')
      .addColumn('tpm_limit', 'bigint')
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('generation', 'bigint', (column) => column.notNull())
      .addColumn('reached', 'bigint', (column) => column.notNull())
      .addColumn('spec', 'text', (column) => column.notNull())
      .addColumn('creator', 'text', (column) => column.notNull())
      .addColumn('modifier', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('modified_at', 'bigint', (column) => column.notNull())
      .addColumn('events', 'bigint', (column) => column.notNull())
      .execute();
    await schema
      .createIndex('deployments_name')
      .unique()
      .on('deployments')
      .columns(['region', 'workspace', 'name'])
      .execute();
    await schema
      .createTable('deployment_events')
      .addColumn('deployment', 'text', (column) => column.notNull())
      .addColumn('number', 'bigint', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('move', 'text', (column) => column.notNull())
      .addColumn('from_status', 'text')
      .addColumn('to_status', 'text', (column) => column.notNull())
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('key_id', 'text')
      .addColumn('generation', 'bigint', (column) => column.notNull())
      .addColumn('capacity', 'integer', (column) => column.notNull())
      .addColumn('ready_capacity', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('deployment_events_place', ['deployment', 'number'])
      .execute();
    // Set when a running job is requeued: the job starts again as soon as it ends.
    await schema.alterTable('jobs').addColumn('again_at', 'bigint').execute();
  },
};
