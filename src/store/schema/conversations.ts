import type { RegionId } from '../../core/region.ts';

/** Created by migration 0002. Times are UTC milliseconds. */
export interface ConversationsTable {
  id: string;
  region: RegionId;
  workspace: string;
  created_at: number;
  /** Time of the last change to the conversation or its items. Retention counts from here. */
  changed_at: number;
  /** JSON: a list of key-value pairs. */
  metadata: string;
  /** Position of the next item. Each position is assigned once, even if its item is deleted. */
  next_position: number;
  /** Lease of the response that is being generated: its ID and expiry time. Both are null, or neither. */
  turn_id: string | null;
  turn_until: number | null;
}
