import { z } from 'zod';
import { SEARCH_PROVIDER_PAGES_MAX, SEARCH_QUERY_CHARS_MAX } from '../../limits.ts';
import type { SearchQuery } from '../../../core/server-tools.ts';
import { parsePublicationDate } from '../../parse-publication-date.ts';
import { requestSearchJson, type SearchServiceOptions } from '../search-service.ts';
import type { SearchResult } from '../clean-results.ts';
import type { SearchProvider } from '../search-provider.ts';
import { addSiteOperators } from './site-operators.ts';

export interface SearxngOptions extends SearchServiceOptions {
  readonly domain?: string | undefined;
  /** Names of engines and categories of the instance. Default: those of the instance. */
  readonly engines?: readonly string[] | undefined;
  readonly categories?: readonly string[] | undefined;
  /** Such as `de`. Default: the instance's. */
  readonly language?: string | undefined;
  /** Bearer token for a proxy in front of the instance; SearXNG itself has no keys. */
  readonly apiKey?: string | undefined;
}

const Answer = z.object({
  results: z.array(
    z.object({
      url: z.string().nullish(),
      title: z.string().nullish(),
      content: z.string().nullish(),
      publishedDate: z.string().nullish(),
    }),
  ),
});

/**
 * Searches with a SearXNG instance. `formats` in its settings must contain `json`, or it responds with 403. The page
 * size depends on its engines, so several pages are requested until there are enough results.
 */
export function createSearxng(options: SearxngOptions): SearchProvider {
  const { name, domain, engines = [], categories = [], language, apiKey } = options;
  const buildParameters = (query: SearchQuery): Record<string, string> => {
    const range = toTimeRange(query.freshnessDays);
    return {
      q: addSiteOperators(query, SEARCH_QUERY_CHARS_MAX),
      format: 'json',
      ...(engines.length > 0 ? { engines: engines.join(',') } : {}),
      ...(categories.length > 0 ? { categories: categories.join(',') } : {}),
      ...(language === undefined ? {} : { language }),
      ...(range === undefined ? {} : { time_range: range }),
    };
  };
  return {
    name,
    ...(domain === undefined ? {} : { domain }),
    async search(query, signal) {
      const results: SearchResult[] = [];
      for (let page = 1; page <= SEARCH_PROVIDER_PAGES_MAX && results.length < query.resultsMax; page++) {
        const request = {
          path: 'search',
          parameters: { ...buildParameters(query), pageno: page },
          accept: 'application/json',
          signal,
          ...(apiKey === undefined ? {} : { headers: { authorization: `Bearer ${apiKey}` } }),
        };
        const response = await requestSearchJson(options, request, Answer).catch((thrown: unknown) => {
          // Keeps the results of earlier pages: an instance with a rate limit refuses the second page first.
          if (results.length === 0 || signal.aborted) throw thrown;
          return { results: [] };
        });
        if (response.results.length === 0) break;
        for (const { url, title, content, publishedDate } of response.results) {
          const publishedAt = parsePublicationDate(publishedDate);
          results.push({
            title: title ?? '',
            url: url ?? '',
            siteName: '',
            icon: '',
            passage: content ?? '',
            ...(publishedAt === undefined ? {} : { publishedAt }),
          });
        }
      }
      return { results, findings: [] };
    },
  };
}

/** Returns the shortest time range of SearXNG that contains the given number of days. */
function toTimeRange(days: number | undefined): string | undefined {
  if (days === undefined || days > 365) return undefined;
  if (days <= 1) return 'day';
  if (days <= 7) return 'week';
  return days <= 30 ? 'month' : 'year';
}
