import { z } from 'zod';
import { SEARCH_PROVIDER_PAGES_MAX, SEARCH_QUERY_CHARS_MAX } from '../../../core/limits.ts';
import type { SearchQuery } from '../../../core/server-tools.ts';
import { readDate } from '../../read-date.ts';
import { askJson } from '../ask-service.ts';
import type { ServiceNeeds } from '../ask-service.ts';
import type { SearchResult } from '../clean-found.ts';
import type { SearchProvider } from '../search-provider.ts';
import { withSiteOperators } from './site-operators.ts';

export interface SearxngOptions extends ServiceNeeds {
  readonly domain?: string | undefined;
  /** Names of the instance's engines and categories; default: what the instance has as its own. */
  readonly engines?: readonly string[] | undefined;
  readonly categories?: readonly string[] | undefined;
  /** Such as `de`; default: the instance's. */
  readonly language?: string | undefined;
  /** Of a proxy before the instance; SearXNG itself knows no keys. */
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
 * An instance of SearXNG by its search interface; `formats` in its settings have to hold `json`, or it answers with 403.
 * Its pages have as many results as its engines like, so several are asked for where one is not enough.
 */
export function createSearxng(options: SearxngOptions): SearchProvider {
  const { name, domain, engines = [], categories = [], language, apiKey } = options;
  const parametersOf = (query: SearchQuery): Record<string, string> => {
    const range = rangeOf(query.freshnessDays);
    return {
      q: withSiteOperators(query, SEARCH_QUERY_CHARS_MAX),
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
        const wish = {
          path: 'search',
          parameters: { ...parametersOf(query), pageno: page },
          accept: 'application/json',
          signal,
          ...(apiKey === undefined ? {} : { headers: { authorization: `Bearer ${apiKey}` } }),
        };
        const answer = await askJson(options, wish, Answer).catch((thrown: unknown) => {
          // What came before it counts; whoever is asked too often refuses the second page first.
          if (results.length === 0 || signal.aborted) throw thrown;
          return { results: [] };
        });
        if (answer.results.length === 0) break;
        for (const { url, title, content, publishedDate } of answer.results) {
          const publishedAt = readDate(publishedDate);
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

/** The shortest of its ranges that holds so many days. */
function rangeOf(days: number | undefined): string | undefined {
  if (days === undefined || days > 365) return undefined;
  if (days <= 1) return 'day';
  if (days <= 7) return 'week';
  return days <= 30 ? 'month' : 'year';
}
