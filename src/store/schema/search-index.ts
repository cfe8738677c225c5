import type { RegionId } from '../../core/region.ts';

/** Created by migration 0011: a named set of documents in the local index. Times are UTC milliseconds. */
export interface IndexCollectionsTable {
  name: string;
  /** JSON: sources of the documents, with local paths. Shown to the operator only. */
  sources: string;
  /** Domain of a collection that only domain searches find; null for general collections. */
  domain: string | null;
  /** Workspace that may search the collection; null for all workspaces. */
  workspace: string | null;
  /** Region whose keys may search the collection; null for all regions. Added by migration 0014. */
  region: RegionId | null;
  created_at: number;
  /** When the last complete refresh of all sources finished; null before the first. */
  refreshed_at: number | null;
}

/** Created by migration 0011. */
export interface IndexDocumentsTable {
  id: number;
  collection: string;
  /** URL of the document, or its path within the collection. */
  reference: string;
  url: string;
  /** Host labels in reverse order, each followed by a dot: `com.example.`; '' without a host. */
  host: string;
  title: string;
  site_name: string;
  icon: string;
  published_at: number | null;
  /** Hash of the source document. */
  hash: string;
  bytes: number;
  /** ID of the first passage. The IDs of a document's passages are consecutive. */
  first_passage: number;
  passages: number;
  indexed_at: number;
  /** Format of its search terms. Added by migration 0016. */
  term_format: number;
}

/** Created by migration 0011. */
export interface IndexPassagesTable {
  id: number;
  document: number;
  text: string;
}

/** Created by migration 0011: vectors of all passages of a document in order, one signed byte per component. */
export interface IndexVectorsTable {
  document: number;
  model: string;
  dimensions: number;
  vectors: Uint8Array;
}
