import { sql } from 'kysely';
import type { Migration } from '../migrate.ts';

/** Also creates rows and jobs for `file-extract` files that were uploaded before text extraction existed. */
export const texts: Migration = {
  name: '0006-texts',
  async up(db) {
    await db.schema
      .createTable('texts')
      .addColumn('blob', 'text', (column) => column.primaryKey())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('reason', 'text')
      .addColumn('kind', 'text')
      .addColumn('chars', 'bigint')
      .addColumn('bytes', 'bigint')
      .addColumn('text_blob', 'text')
      .addColumn('changed_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('texts_text_blob').on('texts').column('text_blob').execute();
    await sql`
      insert into texts (blob, state, changed_at)
      select blob, 'waiting', changed_at from files where state = 'active' and purpose = 'file-extract'`.execute(db);
    await sql`
      insert into jobs (id, kind, subject, region, workspace, key_id, payload, state, priority, attempt, tries, tries_left,
        due_at, is_cancelled, created_at)
      select 'job_' || sort_key, 'extract', id, region, workspace, key_id, '{}', 'waiting', 5, 0, 5, 5, changed_at, 0, changed_at
      from files where state = 'active' and purpose = 'file-extract'`.execute(db);
  },
};
