import type { RegionId } from '../../core/region.ts';

/** Created by migration 0002. The items of a response are stored in `items` and never change. */
export interface ResponsesTable {
  id: string;
  region: RegionId;
  workspace: string;
  /** UTC milliseconds. */
  created_at: number;
  /**
   * The conversation may have been deleted since. `conversation_from` is the position of this response's first item.
   */
  conversation_id: string | null;
  conversation_from: number | null;
  /** ID of the previous response; that response may have been deleted since. */
  previous_id: string | null;
  /** Number of input and output items, and their total size in bytes. */
  item_count: number;
  item_bytes: number;
  json: string;
}
