import type { Migration } from '../migrate.ts';

export const uploads: Migration = {
  name: '0013-uploads',
  async up({ schema }) {
    await schema
      .createTable('uploads')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('region', 'text', (column) => column.notNull())
      .addColumn('workspace', 'text', (column) => column.notNull())
      .addColumn('key_id', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('purpose', 'text', (column) => column.notNull())
      .addColumn('size_bytes', 'bigint', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('file_id', 'text')
      .execute();
    await schema.createIndex('uploads_owner').on('uploads').columns(['region', 'workspace', 'status']).execute();
    await schema.createIndex('uploads_expiry').on('uploads').column('expires_at').execute();
    await schema
      .createTable('upload_parts')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('upload_id', 'text', (column) => column.notNull())
      .addColumn('blob', 'text', (column) => column.notNull())
      .addColumn('size_bytes', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
    await schema.createIndex('upload_parts_upload').on('upload_parts').column('upload_id').execute();
  },
};
