import type { RegionId } from '../../core/region.ts';

/** Migration 0002. Items of conversations and of responses. */
export interface ItemsTable {
  /** Id of the conversation or the response. Primary key together with `position`. */
  container: string;
  position: number;
  /** Unique together with `container`: a turn's items stand in its conversation and in its response. */
  id: string;
  region: RegionId;
  workspace: string;
  /** Of a response: what it was asked or what it said. */
  side: 'input' | 'output' | null;
  /** Of `json` in UTF-8. */
  bytes: number;
  json: string;
}
