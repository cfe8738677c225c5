import { z } from 'zod';
import { systemClock } from '../../../lib/clock.ts';
import type { Clock } from '../../../lib/clock.ts';
import { readDate } from '../../read-date.ts';
import { askJson } from '../ask-service.ts';
import type { ServiceNeeds } from '../ask-service.ts';
import type { SearchProvider } from '../search-provider.ts';
import { isoDay } from './iso-day.ts';
import { withSiteOperators } from './site-operators.ts';

export interface BraveOptions extends ServiceNeeds {
  readonly domain?: string | undefined;
  readonly apiKey: string;
  /** Two letters, such as `DE`, and a language, such as `de`; default: the service's. */
  readonly country?: string | undefined;
  readonly language?: string | undefined;
  readonly clock?: Clock;
}

/** Of the service's: characters and words of a query, and results of a page. */
const QUERY_CHARS_MAX = 400;
const QUERY_WORDS_MAX = 50;
const RESULTS_MAX = 20;

const Answer = z.object({
  /** Absent where nothing was found. */
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

/** Brave's web search. */
export function createBrave(options: BraveOptions): SearchProvider {
  const { name, domain, apiKey, country, language, clock = systemClock } = options;
  return {
    name,
    ...(domain === undefined ? {} : { domain }),
    async search(query, signal) {
      const { resultsMax, freshnessDays, text } = query;
      const now = clock.now();
      const few = {
        ...query,
        text: text
          .split(/\s+/u)
          .slice(0, QUERY_WORDS_MAX / 2)
          .join(' '),
      };
      const { web } = await askJson(
        options,
        {
          path: 'res/v1/web/search',
          headers: { 'x-subscription-token': apiKey },
          parameters: {
            q: withSiteOperators(few, QUERY_CHARS_MAX),
            count: Math.min(resultsMax, RESULTS_MAX),
            result_filter: 'web',
            text_decorations: 'false',
            ...(country === undefined ? {} : { country }),
            ...(language === undefined ? {} : { search_lang: language }),
            ...(freshnessDays === undefined
              ? {}
              : { freshness: `${isoDay(now - freshnessDays * 86_400_000)}to${isoDay(now)}` }),
          },
          accept: 'application/json',
          signal,
        },
        Answer,
      );
      const results = (web?.results ?? []).map((result) => {
        const publishedAt = readDate(result.page_age);
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
