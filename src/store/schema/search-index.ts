/** Migration 0011. Times are UTC milliseconds. What one place is given together under one name. */
export interface IndexCollectionsTable {
  name: string;
  /** JSON: where it comes from, with paths of this machine. For the operator alone. */
  sources: string;
  /** Of what is asked for apart from everything else; null: of nothing in particular. */
  domain: string | null;
  /** Null: everybody's. */
  workspace: string | null;
  created_at: number;
  /** When all of its sources were last gone through. */
  refreshed_at: number | null;
}

/** Migration 0011. */
export interface IndexDocumentsTable {
  id: number;
  collection: string;
  /** Its address, or its path within the collection. */
  reference: string;
  url: string;
  /** Labels of the host, last one first, each with a point behind it: `com.example.`; '' without one. */
  host: string;
  title: string;
  site_name: string;
  icon: string;
  published_at: number | null;
  /** Of what it was read from. */
  hash: string;
  bytes: number;
  /** Its passages have these numbers, one after another. */
  first_passage: number;
  passages: number;
  indexed_at: number;
}

/** Migration 0011. */
export interface IndexPassagesTable {
  id: number;
  document: number;
  text: string;
}

/** Migration 0011. The vectors of all passages of a document in their order, a signed byte for each component. */
export interface IndexVectorsTable {
  document: number;
  model: string;
  dimensions: number;
  vectors: Uint8Array;
}
