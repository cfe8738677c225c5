import type { Migration } from '../migrate.ts';

/** Blobs that were written before have no row: nobody knows which bytes they should have. */
export const blobHashes: Migration = {
  name: '0017-blob-hashes',
  async up({ schema }, { bytesType }) {
    await schema
      .createTable('blob_hashes')
      .addColumn('blob', 'text', (column) => column.primaryKey())
      .addColumn('size_bytes', 'bigint', (column) => column.notNull())
      // Last column: queries that skip it do not read its overflow pages.
      .addColumn('hashes', bytesType, (column) => column.notNull())
      .execute();
  },
};
