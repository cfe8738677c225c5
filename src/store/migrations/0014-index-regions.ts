import type { Migration } from '../migrate.ts';

/** Collections that were limited to a workspace before stay visible to it in every region. */
export const indexRegions: Migration = {
  name: '0014-index-regions',
  async up({ schema }) {
    await schema.alterTable('index_collections').addColumn('region', 'text').execute();
  },
};
