import type { Migration } from '../migrate.ts';

/** Retention finds ended batches and old files without reading all rows. */
export const retention: Migration = {
  name: '0018-retention',
  async up({ schema }) {
    await schema.createIndex('batches_ended').on('batches').column('ended_at').execute();
    await schema.createIndex('files_created').on('files').column('created_at').execute();
  },
};
