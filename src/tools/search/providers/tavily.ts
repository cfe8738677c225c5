import { z } from 'zod';
import { systemClock } from '../../../lib/clock.ts';
import type { Clock } from '../../../lib/clock.ts';
import { readDate } from '../../read-date.ts';
import { askJson } from '../ask-service.ts';
import type { ServiceNeeds } from '../ask-service.ts';
import { hostOfSite } from '../../../core/site-rules.ts';
import type { SearchProvider } from '../search-provider.ts';
import { isoDay } from './iso-day.ts';

export interface TavilyOptions extends ServiceNeeds {
  readonly domain?: string | undefined;
  readonly apiKey: string;
  readonly clock?: Clock;
}

/** Of the service's: characters of a query, results, and hosts to search in and not to. */
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

/** Tavily's search. It dates what it finds only among news: a query for what is new asks for these. */
export function createTavily(options: TavilyOptions): SearchProvider {
  const { name, domain, apiKey, clock = systemClock } = options;
  return {
    name,
    ...(domain === undefined ? {} : { domain }),
    async search({ text, resultsMax, freshnessDays, sites = [], blockedSites = [] }, signal) {
      const { results } = await askJson(
        options,
        {
          path: 'search',
          headers: { authorization: `Bearer ${apiKey}` },
          body: {
            query: text.slice(0, QUERY_CHARS_MAX),
            max_results: Math.min(resultsMax, RESULTS_MAX),
            include_favicon: true,
            ...(sites.length > 0 ? { include_domains: hostsOf(sites).slice(0, SITES_MAX) } : {}),
            ...(blockedSites.length > 0 ? { exclude_domains: hostsOf(blockedSites).slice(0, BLOCKED_MAX) } : {}),
            ...(freshnessDays === undefined
              ? {}
              : { topic: 'news', start_date: isoDay(clock.now() - freshnessDays * 86_400_000) }),
          },
          accept: 'application/json',
          signal,
        },
        Answer,
      );
      return {
        results: results.map(({ title, url, content, favicon, published_date: date }) => {
          const publishedAt = readDate(date);
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

const hostsOf = (sites: readonly string[]): readonly string[] => sites.flatMap((site) => hostOfSite(site) ?? []);
