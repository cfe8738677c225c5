import type { Extracted } from '../../documents/document.ts';
import type { IndexCollection, IndexCollectionTotals } from '../../store/index-collections.ts';
import type { PassedOver } from './walk-folder.ts';

/** Vectors of texts, one for each, of length 1; undefined where there is nothing that makes them. */
export type EmbedTexts = (texts: readonly string[], signal: AbortSignal) => Promise<EmbeddedTexts | undefined>;

export interface EmbeddedTexts {
  /** Which vectors can be compared with each other. */
  readonly model: string;
  readonly vectors: readonly Float32Array[];
}

/** As `documents/extract.ts` has it. */
export type ExtractText = (
  source: AsyncIterable<Uint8Array>,
  wish: { readonly name: string; readonly sizeBytes: number; readonly signal: AbortSignal },
) => Promise<Extracted>;

/** How far a refresh is. */
export interface RefreshProgress {
  readonly step: 'reading' | 'vectors';
  /** Documents that were looked at. */
  readonly done: number;
  /** The last one of them. */
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
  /** The first of them. */
  readonly problems: readonly RefreshProblem[];
  readonly passedOver: Readonly<PassedOver>;
  /** Documents that got vectors. */
  readonly vectors: number;
}

export interface RefreshWatch {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: RefreshProgress) => void;
}

export interface AddWish {
  /** Addresses, folders, files, and files of addresses. */
  readonly sources: readonly string[];
  /** Default: a word of the first source. */
  readonly name?: string | undefined;
  readonly domain?: string | undefined;
  readonly workspace?: string | undefined;
}

/** The operator's side of the local index. */
export interface SearchIndexOperator {
  /**
   * Makes a collection, or adds to the one of that name, and reads all of its sources. A new one of which nothing could be read
   * is not kept.
   *
   * @throws ServiceError `invalid-request`, `conflict` for a name that is another collection's; or the signal's reason:
   * what was read until then is there.
   */
  add(wish: AddWish, watch: RefreshWatch): Promise<{ readonly name: string; readonly report: RefreshReport }>;
  /** @throws ServiceError `not-found`, `invalid-request` for a source that is not there any more; or the signal's reason. */
  refresh(name: string, watch: RefreshWatch): Promise<RefreshReport>;
  list(): Promise<readonly (IndexCollection & IndexCollectionTotals)[]>;
  /** @throws ServiceError `not-found`. @returns what was in it. */
  remove(name: string): Promise<IndexCollectionTotals>;
}
