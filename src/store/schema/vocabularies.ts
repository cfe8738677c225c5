import type { RegionId } from '../../core/region.ts';

/** Created by migration 0009. Times are UTC milliseconds. */
export interface VocabulariesTable {
  id: string;
  region: RegionId;
  workspace: string;
  /** Prefix of the ID. */
  prefix: string;
  /** Model name as the client wrote it. */
  target_model: string;
  created_at: number;
  modified_at: number;
  /** JSON of `VocabularyEntry[]`. */
  entries: string;
}

/** Created by migration 0009: one lock row per workspace and region. Whoever adds a vocabulary locks this row first. */
export interface VocabularyPlacesTable {
  region: RegionId;
  workspace: string;
}
