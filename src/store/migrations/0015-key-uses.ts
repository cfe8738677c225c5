import type { Migration } from '../migrate.ts';

/** The last use of keys is unknown before this migration. */
export const keyUses: Migration = {
  name: '0015-key-uses',
  async up({ schema }) {
    await schema.alterTable('keys').addColumn('used_at', 'bigint').execute();
  },
};
