import type { RegionId } from '../../core/region.ts';

/** Migration 0002. Times are UTC milliseconds. */
export interface ConversationsTable {
  id: string;
  region: RegionId;
  workspace: string;
  created_at: number;
  /** Of the last change to it or to its items: its age counts from here. */
  changed_at: number;
  /** JSON, a list of pairs. */
  metadata: string;
  /** Where the next item goes: each is given out once, also where an item is deleted. */
  next_position: number;
  /** The answer in the making, and until when it counts as alive. Both or neither. */
  turn_id: string | null;
  turn_until: number | null;
}
