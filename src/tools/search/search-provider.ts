import type { HasSearchContent, SearchResults, SearchQuery } from '../../core/server-tools.ts';

/** A source of search results: a service on the network or the local index. */
export interface SearchProvider {
  /** Unique name in the log and in the health report. */
  readonly name: string;
  /** Such as `weather`: queried only if the caller requests domains; its results become findings. Absent: the web. */
  readonly domain?: string;
  /**
   * True for the local index: other providers must not return its URLs (`parley-index:`). Some of its documents may
   * belong to domains, so it is also queried when the caller requests domains.
   */
  readonly isOwn?: boolean;
  /**
   * Returns whether a search of this tenant can find anything; of any tenant without one. Absent: always.
   */
  readonly hasContent?: HasSearchContent;
  /**
   * May return more, other or older results than requested: the caller enforces the query on the results.
   *
   * @throws ServiceError if the provider fails; or the signal's reason.
   */
  search(query: SearchQuery, signal: AbortSignal): Promise<SearchResults>;
}
