import { z } from 'zod';
import { systemClock, type Clock } from '../../../lib/clock.ts';
import { parsePublicationDate } from '../../parse-publication-date.ts';
import { requestSearchJson, type SearchServiceOptions } from '../search-service.ts';
import type { SearchProvider } from '../search-provider.ts';
import { formatIsoDay } from './format-iso-day.ts';
import { addSiteOperators } from './site-operators.ts';

export interface BraveOptions extends SearchServiceOptions {
  readonly domain?: string | undefined;
  readonly apiKey: string;
  /** Country of two letters, such as `DE`, and language, such as `de`. Default: the service's. */
  readonly country?: string | undefined;
  readonly language?: string | undefined;
  readonly clock?: Clock;
}

/** Limits of the service: characters and words of a query, and results per page. */
const QUERY_CHARS_MAX = 400;
const QUERY_WORDS_MAX = 50;
const RESULTS_MAX = 20;

const Answer = z.object({
  /** Absent if there are no results. */
  web: z
    .object({
      results: z.array(
        z.object({
          title: z.string().nullish(),
          url: z.string().nullish(),
          description: z.string().nullish(),
          extra_snippets: z.array(z.string()).nullish(),
          page_age: z.string().nullish(),
          profile: z.object({ name: z.string().nullish() }).nullish(),
          meta_url: z.object({ favicon: z.string().nullish() }).nullish(),
        }),
      ),
    })
    .nullish(),
});

/** Searches with the Brave Search API. */
export function createBrave(options: BraveOptions): SearchProvider {
  const { name, domain, apiKey, country, language, clock = systemClock } = options;
  return {
    name,
    ...(domain === undefined ? {} : { domain }),
    async search(query, signal) {
      const { resultsMax, freshnessDays, text } = query;
      const now = clock.now();
      const shortened = {
        ...query,
        text: text
          .split(/\s+/u)
          .slice(0, QUERY_WORDS_MAX / 2)
          .join(' '),
      };
      const { web } = await requestSearchJson(
        options,
        {
          path: 'res/v1/web/search',
          headers: { 'x-subscription-token': apiKey },
          parameters: {
            q: addSiteOperators(shortened, QUERY_CHARS_MAX),
            count: Math.min(resultsMax, RESULTS_MAX),
            result_filter: 'web',
            text_decorations: 'false',
            ...(country === undefined ? {} : { country }),
            ...(language === undefined ? {} : { search_lang: language }),
            ...(freshnessDays === undefined
              ? {}
              : { freshness: `${formatIsoDay(now - freshnessDays * 86_400_000)}to${formatIsoDay(now)}` }),
          },
          accept: 'application/json',
          signal,
        },
        Answer,
      );
      const results = (web?.results ?? []).map((result) => {
        const publishedAt = parsePublicationDate(result.page_age);
        return {
          title: result.title ?? '',
          url: result.url ?? '',
          siteName: result.profile?.name ?? '',
          icon: result.meta_url?.favicon ?? '',
          passage: [result.description ?? '', ...(result.extra_snippets ?? [])].join('<br>'),
          ...(publishedAt === undefined ? {} : { publishedAt }),
        };
      });
      return { results, findings: [] };
    },
  };
}
