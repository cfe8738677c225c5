import type { Migration } from '../migrate.ts';

/** Retention finds ended batches, old files and the ends of chains of responses without reading all rows. */
export const retention: Migration = {
  name: '0018-retention',
  async up({ schema }) {
    await schema.createIndex('batches_ended').on('batches').column('ended_at').execute();
    await schema.createIndex('responses_previous').on('responses').column('previous_id').execute();
    await schema.createIndex('files_created').on('files').column('created_at').execute();
  },
};
