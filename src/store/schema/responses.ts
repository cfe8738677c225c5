import type { RegionId } from '../../core/region.ts';

/** Migration 0002. Its items stand in `items` and never change. */
export interface ResponsesTable {
  id: string;
  region: RegionId;
  workspace: string;
  /** UTC milliseconds. */
  created_at: number;
  /** May be deleted since; `conversation_from` is the position there from which on its own items stand. */
  conversation_id: string | null;
  conversation_from: number | null;
  /** The response that it goes on from; may be deleted since. */
  previous_id: string | null;
  /** How many items it has, and their bytes in all. */
  item_count: number;
  item_bytes: number;
  json: string;
}
