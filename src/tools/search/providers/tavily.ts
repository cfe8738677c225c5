import { z } from 'zod';
import { systemClock, type Clock } from '../../../lib/clock.ts';
import { parsePublicationDate } from '../../parse-publication-date.ts';
import { requestSearchJson, type SearchServiceOptions } from '../search-service.ts';
import { parseSiteHost } from '../../../core/site-filter.ts';
import type { SearchProvider } from '../search-provider.ts';
import { formatIsoDay } from './format-iso-day.ts';

export interface TavilyOptions extends SearchServiceOptions {
  readonly domain?: string | undefined;
  readonly apiKey: string;
  readonly clock?: Clock;
}

/** Limits of the service: characters of a query, results, included hosts and excluded hosts. */
const QUERY_CHARS_MAX = 400;
const RESULTS_MAX = 20;
const SITES_MAX = 300;
const BLOCKED_MAX = 150;

const Answer = z.object({
  results: z.array(
    z.object({
      title: z.string().nullish(),
      url: z.string().nullish(),
      content: z.string().nullish(),
      favicon: z.string().nullish(),
      published_date: z.string().nullish(),
    }),
  ),
});

/** Searches with Tavily. It dates results of the topic `news` only, so queries with `freshnessDays` use that topic. */
export function createTavily(options: TavilyOptions): SearchProvider {
  const { name, domain, apiKey, clock = systemClock } = options;
  return {
    name,
    ...(domain === undefined ? {} : { domain }),
    async search({ text, resultsMax, freshnessDays, sites = [], blockedSites = [] }, signal) {
      const { results } = await requestSearchJson(
        options,
        {
          path: 'search',
          headers: { authorization: `Bearer ${apiKey}` },
          body: {
            query: text.slice(0, QUERY_CHARS_MAX),
            max_results: Math.min(resultsMax, RESULTS_MAX),
            include_favicon: true,
            ...(sites.length > 0 ? { include_domains: parseHosts(sites).slice(0, SITES_MAX) } : {}),
            ...(blockedSites.length > 0 ? { exclude_domains: parseHosts(blockedSites).slice(0, BLOCKED_MAX) } : {}),
            ...(freshnessDays === undefined
              ? {}
              : { topic: 'news', start_date: formatIsoDay(clock.now() - freshnessDays * 86_400_000) }),
          },
          accept: 'application/json',
          signal,
        },
        Answer,
      );
      return {
        results: results.map(({ title, url, content, favicon, published_date: date }) => {
          const publishedAt = parsePublicationDate(date);
          return {
            title: title ?? '',
            url: url ?? '',
            siteName: '',
            icon: favicon ?? '',
            passage: content ?? '',
            ...(publishedAt === undefined ? {} : { publishedAt }),
          };
        }),
        findings: [],
      };
    },
  };
}

const parseHosts = (sites: readonly string[]): readonly string[] => sites.flatMap((site) => parseSiteHost(site) ?? []);
