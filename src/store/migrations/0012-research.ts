import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

export const research: Migration = {
  name: '0012-research',
  async up({ schema }) {
    await schema
      .createTable('research_runs')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('key_id', 'text', (column) => column.notNull())
      .addColumn('likeness', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('attempt', 'integer', (column) => column.notNull())
      .addColumn('last_step', 'integer', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('started_at', 'bigint')
      .addColumn('read_at', 'bigint', (column) => column.notNull())
      .addColumn('delivered', 'integer', (column) => column.notNull())
      .addColumn('ended_at', 'bigint')
      .addColumn('error', 'text')
      // Last column: queries that skip it do not read the overflow pages of long texts.
      .addColumn('body', 'text', (column) => column.notNull())
      .execute();
    // Two equal requests at the same moment share one run.
    await schema
      .createIndex('research_runs_unfinished')
      .unique()
      .on('research_runs')
      .columns(['region', 'workspace', 'key_id', 'likeness'])
      .where(sql.ref('ended_at'), 'is', null)
      .execute();
    await schema
      .createIndex('research_runs_like')
      .on('research_runs')
      .columns(['region', 'workspace', 'key_id', 'likeness', 'created_at'])
      .execute();
    await schema.createIndex('research_runs_ended').on('research_runs').columns(['ended_at', 'read_at']).execute();
    await schema
      .createTable('research_steps')
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('number', 'integer', (column) => column.notNull())
      .addColumn('json', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('research_steps_place', ['run_id', 'number'])
      .execute();
  },
};
