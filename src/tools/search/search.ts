import { ServiceError } from '../../core/error.ts';
import { SEARCH_MS_MAX, SEARCH_PROVIDER_MS_MAX } from '../../core/limits.ts';
import { SEARCH_QUERY_CHARS_MAX, SEARCH_BACKOFF_SECONDS_MAX } from '../limits.ts';
import type { HasSearchContent, SearchResults, Search, SearchQuery } from '../../core/server-tools.ts';
import type { Log } from '../../core/telemetry.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import { createLinkedAbort } from '../../lib/linked-abort.ts';
import { raceWithAbort } from '../../lib/race-with-abort.ts';
import { cleanFindings, cleanResults } from './clean-results.ts';
import { fuseResults } from './fuse-results.ts';
import { markupToLine } from './markup-to-text.ts';
import { createResultFilter } from './result-filter.ts';
import type { SearchProvider } from './search-provider.ts';

export interface SearchDeps {
  /** In the order in which a search with breadth `first` queries them. */
  readonly providers: readonly SearchProvider[];
  readonly log: Log;
  readonly clock?: Clock;
  /** Limits in ms, for each provider and for the whole search. */
  readonly timeouts?: { readonly providerMs?: number; readonly totalMs?: number };
}

/** Results of a provider; undefined if it failed, which has been logged. */
type ProviderOutcome = SearchResults | undefined;

interface SearchSignals {
  /** Aborts when the caller leaves: the search fails. */
  readonly callerSignal: AbortSignal;
  /** Aborts also when the total time is over: the search returns what it has. */
  readonly searchSignal: AbortSignal;
}

const NO_RESULTS: SearchResults = { results: [], findings: [] };

/** Creates a search over several providers. Filters, cleans and limits what they return, because none is trusted. */
export function createSearch({ providers, log, clock = systemClock, timeouts = {} }: SearchDeps): Search {
  const { providerMs = SEARCH_PROVIDER_MS_MAX, totalMs = SEARCH_MS_MAX } = timeouts;
  const webProviders = providers.filter(({ domain }) => domain === undefined);
  const domainProviders = providers.filter(({ domain, isOwn }) => domain !== undefined || isOwn === true);
  /** Monotonic time in ms until which a provider is paused after a Retry-After. */
  const pausedUntil = new Map<string, number>();

  /** A query with `usesDomainProviders` returns findings only, other queries results only. */
  const queryProvider = async (
    provider: SearchProvider,
    query: SearchQuery,
    { callerSignal, searchSignal }: SearchSignals,
  ): Promise<ProviderOutcome> => {
    const { name, domain, isOwn = false } = provider;
    if ((pausedUntil.get(name) ?? 0) > clock.monotonic()) return undefined;
    const abort = createLinkedAbort(searchSignal);
    const timer = setTimeout(() => abort.abort(createTimeoutError(providerMs)), providerMs);
    try {
      const results = await raceWithAbort(provider.search(query, abort.signal), abort.signal);
      if (query.usesDomainProviders) return { results: [], findings: cleanFindings(results, domain) };
      return {
        results: cleanResults(results.results, { isOwn }).filter(createResultFilter(query, clock.now())),
        findings: [],
      };
    } catch (thrown) {
      callerSignal.throwIfAborted();
      const { kind, message, retryAfterSeconds } = ServiceError.from(thrown);
      if (kind === 'internal') log.error('search provider failed', { provider: name, error: thrown });
      else log.warn('search provider failed', { provider: name, kind, reason: message });
      if (retryAfterSeconds !== undefined) {
        pausedUntil.set(name, clock.monotonic() + Math.min(retryAfterSeconds, SEARCH_BACKOFF_SECONDS_MAX) * 1_000);
      }
      return undefined;
    } finally {
      clearTimeout(timer);
      abort.unlink();
    }
  };

  /** Queries the providers in order until one has results. */
  const queryInOrder = async (query: SearchQuery, signals: SearchSignals): Promise<readonly ProviderOutcome[]> => {
    const outcomes: ProviderOutcome[] = [];
    for (const provider of webProviders) {
      const outcome = await queryProvider(provider, query, signals);
      outcomes.push(outcome);
      if (signals.searchSignal.aborted || (outcome && outcome.results.length > 0)) break;
    }
    return outcomes;
  };

  const queryAll = (
    queried: readonly SearchProvider[],
    query: SearchQuery,
    signals: SearchSignals,
  ): Promise<ProviderOutcome[]> => Promise.all(queried.map((provider) => queryProvider(provider, query, signals)));

  return async (request, signal) => {
    signal.throwIfAborted();
    const query = { ...request, text: markupToLine(request.text, SEARCH_QUERY_CHARS_MAX) };
    if (query.text === '' || query.resultsMax < 1) return NO_RESULTS;
    const webQuery = { ...query, usesDomainProviders: false };
    const searchAbort = createLinkedAbort(signal);
    const timer = setTimeout(() => searchAbort.abort(createTimeoutError(totalMs)), totalMs);
    const signals: SearchSignals = { callerSignal: signal, searchSignal: searchAbort.signal };
    try {
      const [webOutcomes, domainOutcomes] = await Promise.all([
        query.breadth === 'first' ? queryInOrder(webQuery, signals) : queryAll(webProviders, webQuery, signals),
        query.usesDomainProviders ? queryAll(domainProviders, query, signals) : [],
      ]);
      const outcomes = [...webOutcomes, ...domainOutcomes];
      if (outcomes.length > 0 && outcomes.every((answer) => answer === undefined)) throw createAllFailedError();
      return {
        results: fuseResults(webOutcomes.map((answer) => answer?.results ?? [])).slice(0, query.resultsMax),
        findings: domainOutcomes.flatMap((answer) => answer?.findings ?? []),
      };
    } finally {
      clearTimeout(timer);
      searchAbort.unlink();
    }
  };
}

/** Creates the check whether any of the providers has something to find. */
export const createHasSearchContent =
  (providers: readonly SearchProvider[]): HasSearchContent =>
  async (tenant) => {
    for (const { hasContent } of providers) if (!hasContent || (await hasContent(tenant))) return true;
    return false;
  };

const createTimeoutError = (ms: number): ServiceError =>
  new ServiceError('timeout', `The search took longer than ${ms / 1_000} s.`);

const createAllFailedError = (): ServiceError =>
  new ServiceError('upstream-failed', 'No search provider responded. Please try again later.');
