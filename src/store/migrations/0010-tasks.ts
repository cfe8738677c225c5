import type { Migration } from '../migrate.ts';

export const tasks: Migration = {
  name: '0010-tasks',
  async up({ schema }) {
    await schema
      .createTable('tasks')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('key_id', 'text', (column) => column.notNull())
      .addColumn('request_id', 'text', (column) => column.notNull())
      .addColumn('model', 'text', (column) => column.notNull())
      .addColumn('service', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('submitted_at', 'bigint', (column) => column.notNull())
      .addColumn('started_at', 'bigint')
      .addColumn('ended_at', 'bigint')
      .addColumn('error', 'text')
      .addColumn('wish', 'text', (column) => column.notNull())
      .execute();
    await schema.createIndex('tasks_owner').on('tasks').columns(['region', 'workspace', 'submitted_at']).execute();
    await schema.createIndex('tasks_ended').on('tasks').column('ended_at').execute();
    await schema
      .createTable('transcription_parts')
      .addColumn('task_id', 'text', (column) => column.notNull())
      .addColumn('number', 'integer', (column) => column.notNull())
      .addColumn('source', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('source_blob', 'text')
      .addColumn('source_bytes', 'bigint')
      .addColumn('facts', 'text')
      .addColumn('code', 'text')
      .addColumn('message', 'text')
      .addPrimaryKeyConstraint('transcription_parts_place', ['task_id', 'number'])
      .execute();
    await schema.createIndex('transcription_parts_blob').on('transcription_parts').column('source_blob').execute();
    await schema
      .createTable('transcription_windows')
      .addColumn('task_id', 'text', (column) => column.notNull())
      .addColumn('part', 'integer', (column) => column.notNull())
      .addColumn('channel', 'integer', (column) => column.notNull())
      .addColumn('number', 'integer', (column) => column.notNull())
      .addColumn('end_sample', 'bigint', (column) => column.notNull())
      .addColumn('text', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('transcription_windows_place', ['task_id', 'part', 'channel', 'number'])
      .execute();
  },
};
