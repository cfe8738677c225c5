import type { RegionId } from '../../core/region.ts';

/** Migration 0003. Times are UTC milliseconds. */
export interface FilesTable {
  /** Name of its bytes in the blob store. */
  blob: string;
  /** What is reserved has no record yet, and what is being deleted has none any more: neither can be found. */
  state: 'reserved' | 'active' | 'deleting';
  region: RegionId;
  workspace: string;
  key_id: string;
  /** Its size; of a reservation what it holds. */
  bytes: number;
  /** Until when whoever works at it counts as alive; null of an active one, and of no other. */
  lease_until: number | null;
  changed_at: number;
  /** Migration 0005. The batch whose results it is for; null where its bytes come from a caller. */
  held_for: string | null;
  /** From here on null until it is active. */
  id: string | null;
  /** Of its id what is sortable by time; null again when it is being deleted. */
  sort_key: string | null;
  number: number | null;
  name: string | null;
  description: string | null;
  purpose: string | null;
  md5: string | null;
  created_at: number | null;
}

/** Migration 0003. What a workspace holds in a region, reserved or active: always the sum of its rows in `files`. */
export interface FileTotalsTable {
  region: RegionId;
  workspace: string;
  files: number;
  bytes: number;
}

/** Migration 0003. Active ones by purpose: a list says how many there are without counting them. */
export interface FileCountsTable {
  region: RegionId;
  workspace: string;
  purpose: string;
  files: number;
}
