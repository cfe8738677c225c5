import type { Migration } from '../migrate.ts';

export const background: Migration = {
  name: '0007-background',
  async up({ schema }) {
    await schema
      .createTable('background_runs')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('key_id', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('attempt', 'integer', (column) => column.notNull())
      .addColumn('is_streamed', 'integer', (column) => column.notNull())
      .addColumn('last_sequence', 'bigint', (column) => column.notNull())
      .addColumn('event_chars', 'bigint', (column) => column.notNull())
      .addColumn('events_until', 'bigint')
      .addColumn('conversation_id', 'text')
      .addColumn('previous_id', 'text')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('ended_at', 'bigint')
      // Last columns: queries that skip them do not read the overflow pages of long texts.
      .addColumn('json', 'text')
      .addColumn('body', 'text')
      .execute();
    await schema.createIndex('background_runs_key').on('background_runs').columns(['key_id', 'ended_at']).execute();
    await schema.createIndex('background_runs_created').on('background_runs').column('created_at').execute();
    await schema.createIndex('background_runs_events').on('background_runs').column('events_until').execute();
    await schema
      .createIndex('background_runs_conversation')
      .on('background_runs')
      .columns(['conversation_id', 'id'])
      .execute();
    await schema
      .createTable('response_events')
      .addColumn('response_id', 'text', (column) => column.notNull())
      .addColumn('first', 'bigint', (column) => column.notNull())
      .addColumn('text', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('response_events_place', ['response_id', 'first'])
      .execute();
  },
};
