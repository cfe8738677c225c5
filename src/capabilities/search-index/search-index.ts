import type { RegionId } from '../../core/region.ts';
import type { IndexCollection, IndexCollectionTotals } from '../../store/index-collections.ts';
import type { SkippedCounts } from './walk-folder.ts';

/** Embeds texts: one vector of length 1 for each. Returns undefined if no embedding model is available. */
export type EmbedTexts = (texts: readonly string[], signal: AbortSignal) => Promise<EmbeddedTexts | undefined>;

export interface EmbeddedTexts {
  /** Identifies the model; only vectors of the same model can be compared. */
  readonly model: string;
  readonly vectors: readonly Float32Array[];
}

/**
 * Scores how well each text answers a question; higher is better. Returns undefined if no reranking model is available.
 */
export type RankTexts = (
  question: string,
  texts: readonly string[],
  signal: AbortSignal,
) => Promise<readonly number[] | undefined>;

/** Progress of a refresh. */
export interface RefreshProgress {
  readonly step: 'reading' | 'vectors';
  /** Documents processed so far. */
  readonly done: number;
  /** Documents to process. Undefined while it is not known. */
  readonly total?: number;
  /** The last processed document. */
  readonly reference: string;
}

export interface RefreshProblem {
  readonly reference: string;
  readonly reason: string;
}

export interface RefreshReport {
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly removed: number;
  readonly failed: number;
  /** The first failures, at most INDEX_PROBLEMS_LISTED_MAX. */
  readonly problems: readonly RefreshProblem[];
  readonly skipped: Readonly<SkippedCounts>;
  /** Documents that were embedded. */
  readonly vectors: number;
}

export interface RefreshOptions {
  readonly signal: AbortSignal;
  /** Leaves new documents without vectors: a running service, or the next refresh, computes them. */
  readonly leavesVectors?: boolean;
  readonly onProgress?: (progress: RefreshProgress) => void;
}

export interface AddSourcesRequest {
  /** URLs, folders, files, and files that list URLs. */
  readonly sources: readonly string[];
  /** Default: derived from the first source. */
  readonly name?: string | undefined;
  readonly domain?: string | undefined;
  /** Only keys of this workspace find the collection. Default: all. */
  readonly workspace?: string | undefined;
  /** Only keys of this region find it. */
  readonly region?: RegionId | undefined;
  /** Region of a new collection that names a workspace, which belongs to a region, but no region. */
  readonly workspaceRegion?: RegionId | undefined;
}

/** A collection with its totals. */
export interface ListedCollection extends IndexCollection, IndexCollectionTotals {
  /** Documents with terms of an earlier version, which questions do not find by all of their words. */
  readonly outdated: number;
}

/** The operator's operations on the local index. */
export interface SearchIndexOperator {
  /**
   * Creates a collection, or adds to the named one, and reads all its sources. A new collection is not kept if nothing
   * could be read.
   *
   * @throws ServiceError `invalid-request`; `conflict` if the name belongs to a collection of other sources; or the
   *   signal's reason: documents that were read until then stay.
   */
  add(
    request: AddSourcesRequest,
    options: RefreshOptions,
  ): Promise<{ readonly name: string; readonly report: RefreshReport }>;
  /** @throws ServiceError `not-found`; `invalid-request` if a source no longer exists; or the signal's reason. */
  refresh(name: string, options: RefreshOptions): Promise<RefreshReport>;
  list(): Promise<readonly ListedCollection[]>;
  /** @returns the number of removed documents and their size. @throws ServiceError `not-found`. */
  remove(name: string): Promise<IndexCollectionTotals>;
}
