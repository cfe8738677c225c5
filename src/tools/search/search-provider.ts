import type { Found, SearchQuery } from '../../core/server-tools.ts';

/** One place that answers queries: a service on the network, or documents of our own. */
export interface SearchProvider {
  /** As the log and the health of the service call it; unique among those that were set up. */
  readonly name: string;
  /** Such as `weather`: asked only where a caller wishes for domains, and what it finds becomes findings. Absent: the web. */
  readonly domain?: string;
  /**
   * Documents of our own: no other provider may name their addresses (`parley-index:`). Some may be of domains: it is asked for
   * these where a caller wishes for domains, whoever answers first.
   */
  readonly isOwn?: boolean;
  /**
   * May return more, other or older results than asked for: what `query` demands is enforced on what every provider returns.
   *
   * @throws ServiceError where it has no answer; or the signal's reason.
   */
  search(query: SearchQuery, signal: AbortSignal): Promise<Found>;
}
