import type { Migration } from '../migrate.ts';

export const conversations: Migration = {
  name: '0002-conversations',
  async up({ schema }) {
    await schema
      .createTable('conversations')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('changed_at', 'bigint', (column) => column.notNull())
      .addColumn('metadata', 'text', (column) => column.notNull())
      .addColumn('next_position', 'bigint', (column) => column.notNull())
      .addColumn('turn_id', 'text')
      .addColumn('turn_until', 'bigint')
      .execute();
    await schema.createIndex('conversations_changed').on('conversations').column('changed_at').execute();
    await schema
      .createTable('items')
      .addColumn('container', 'text', (column) => column.notNull())
      .addColumn('position', 'bigint', (column) => column.notNull())
      .addColumn('id', 'text', (column) => column.notNull())
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('side', 'text')
      .addColumn('bytes', 'bigint', (column) => column.notNull())
      // Last column: queries that skip it do not read the overflow pages of long texts.
      .addColumn('json', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('items_place', ['container', 'position'])
      .execute();
    await schema.createIndex('items_id').unique().on('items').columns(['id', 'container']).execute();
    await schema
      .createTable('responses')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('conversation_id', 'text')
      .addColumn('conversation_from', 'bigint')
      .addColumn('previous_id', 'text')
      .addColumn('item_count', 'bigint', (column) => column.notNull())
      .addColumn('item_bytes', 'bigint', (column) => column.notNull())
      .addColumn('json', 'text', (column) => column.notNull())
      .execute();
    await schema.createIndex('responses_created').on('responses').column('created_at').execute();
    await schema.createIndex('responses_conversation').on('responses').columns(['conversation_id', 'id']).execute();
  },
};
