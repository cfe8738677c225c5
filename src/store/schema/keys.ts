import type { RegionId } from '../../core/region.ts';

/** Created by migrations 0001 and 0015. Times are UTC milliseconds. */
export interface KeysTable {
  id: string;
  /** SHA-256 of the secret, lower-case hex; unique. */
  hash: string;
  hint: string;
  region: RegionId;
  workspace: string;
  name: string;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  used_at: number | null;
}
