import type { RegionId } from '../../core/region.ts';

/** Created by migration 0002: items of conversations and of responses. */
export interface ItemsTable {
  /** ID of the conversation or response. Primary key together with `position`. */
  container: string;
  position: number;
  /** Unique together with `container`: an item of a turn is stored in its conversation and in its response. */
  id: string;
  region: RegionId;
  workspace: string;
  /** Whether an item of a response is input or output; null for conversation items. */
  side: 'input' | 'output' | null;
  /** Length of `json` in UTF-8 bytes. */
  bytes: number;
  json: string;
}
