import type { RegionId } from '../../core/region.ts';

/** Migration 0009. Times are UTC milliseconds. */
export interface VocabulariesTable {
  id: string;
  region: RegionId;
  workspace: string;
  /** Of its id. */
  prefix: string;
  /** As its maker wrote it. */
  target_model: string;
  created_at: number;
  modified_at: number;
  /** JSON. */
  entries: string;
}

/** Migration 0009. A row for each place that ever had a vocabulary: whoever holds it is alone in adding one. */
export interface VocabularyPlacesTable {
  region: RegionId;
  workspace: string;
}
