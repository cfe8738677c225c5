import type { RegionId } from '../../core/region.ts';

/** Created by migration 0003. Times are UTC milliseconds. */
export interface FilesTable {
  /** Name of the file's bytes in the blob store. */
  blob: string;
  /** Reserved and deleting rows cannot be found through the API: one has no record yet, the other has none any more. */
  state: 'reserved' | 'active' | 'deleting';
  region: RegionId;
  workspace: string;
  key_id: string;
  /** Size of the file; for a reservation, the number of reserved bytes. */
  bytes: number;
  /** End of the lease of the process that uploads or deletes; null for active files only. */
  lease_until: number | null;
  changed_at: number;
  /**
   * Added by migration 0005: ID of the batch whose results the file will hold, or of the upload whose part it is; null for
   * other uploads.
   */
  held_for: string | null;
  /** This and all following columns are null until the file is active. */
  id: string | null;
  /** Time-sortable part of the ID; null again while the file is being deleted. */
  sort_key: string | null;
  number: number | null;
  name: string | null;
  description: string | null;
  purpose: string | null;
  md5: string | null;
  created_at: number | null;
}

/**
 * Created by migration 0003: usage of a workspace in a region, always the sum of its reserved and active rows in
 * `files`.
 */
export interface FileTotalsTable {
  region: RegionId;
  workspace: string;
  files: number;
  bytes: number;
}

/** Created by migration 0003: number of active files by purpose, so that lists need not count rows. */
export interface FileCountsTable {
  region: RegionId;
  workspace: string;
  purpose: string;
  files: number;
}
