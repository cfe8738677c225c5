import { z } from 'zod';
import { readDate } from '../../read-date.ts';
import { askJson, failed } from '../ask-service.ts';
import type { ServiceNeeds } from '../ask-service.ts';
import type { SearchProvider } from '../search-provider.ts';

export interface MediawikiOptions extends ServiceNeeds {
  readonly domain?: string | undefined;
}

/** Of the wiki's: pages of which one query tells the beginning. */
const EXTRACTS_MAX = 20;

/** Of the wiki's: characters of a query; also what its search backends take at most. */
const QUERY_CHARS_MAX = 300;

/** Errors come with status 200. */
const refusal = { error: z.object({ code: z.string() }).optional() };

const Hits = z.object({
  ...refusal,
  query: z
    .object({
      search: z.array(
        z.object({
          pageid: z.number().int(),
          title: z.string(),
          snippet: z.string().nullish(),
          timestamp: z.string().nullish(),
        }),
      ),
    })
    .optional(),
});

const Pages = z.object({
  ...refusal,
  query: z
    .object({
      pages: z.array(
        z.object({ pageid: z.number().int().optional(), fullurl: z.string().nullish(), extract: z.string().nullish() }),
      ),
      general: z.object({ sitename: z.string().nullish() }).optional(),
    })
    .optional(),
});

/**
 * A wiki by its action interface (`api.php` is below the address): what was found, then the addresses and beginnings of those
 * pages. A wiki without the extension TextExtracts warns that it has no beginnings, and the snippets stand alone. The date of
 * a page is that of its last edit.
 */
export function createMediawiki(options: MediawikiOptions): SearchProvider {
  const { name, domain } = options;
  const ask = async <Answer extends { readonly error?: { readonly code: string } | undefined }>(
    parameters: Readonly<Record<string, string | number>>,
    schema: z.ZodType<Answer>,
    signal: AbortSignal,
  ): Promise<Answer> => {
    const wish = { path: 'api.php', parameters: { action: 'query', format: 'json', formatversion: 2, ...parameters } };
    const answer = await askJson(options, { ...wish, accept: 'application/json', signal }, schema);
    if (answer.error) throw refused(answer.error.code);
    return answer;
  };
  return {
    name,
    ...(domain === undefined ? {} : { domain }),
    async search({ text, resultsMax }, signal) {
      const { query } = await ask(
        {
          list: 'search',
          srsearch: text.slice(0, QUERY_CHARS_MAX),
          srlimit: Math.min(resultsMax, EXTRACTS_MAX),
          srprop: 'snippet|timestamp',
        },
        Hits,
        signal,
      );
      const hits = query?.search ?? [];
      if (hits.length === 0) return { results: [], findings: [] };
      const told = await ask(
        {
          pageids: hits.map(({ pageid }) => pageid).join('|'),
          prop: 'info|extracts',
          inprop: 'url',
          exintro: 1,
          explaintext: 1,
          exlimit: EXTRACTS_MAX,
          meta: 'siteinfo',
          siprop: 'general',
        },
        Pages,
        signal,
      );
      const pages = new Map(told.query?.pages.map((page) => [page.pageid, page]));
      const results = hits.map(({ pageid, title, snippet, timestamp }) => {
        const { fullurl, extract } = pages.get(pageid) ?? {};
        const publishedAt = readDate(timestamp);
        return {
          title,
          url: fullurl ?? '',
          siteName: told.query?.general?.sitename ?? '',
          icon: '',
          ...(publishedAt === undefined ? {} : { publishedAt }),
          // The words around what was looked for first: the beginning of a long article may have none of them.
          passage: [snippet, escaped(extract ?? '')].filter((part) => part).join('<br>'),
        };
      });
      return { results, findings: [] };
    },
  };
}

/** An extract is plain text, and a snippet is HTML: together they are HTML. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('\n', '<br>');

/** Its codes are words of its own, and quote nothing. */
const refused = (code: string) =>
  code === 'ratelimited' || code === 'maxlag'
    ? failed('has had too many requests', 10)
    : failed(`answered with the error ${/^[\w-]{1,60}$/.test(code) ? code : 'of a name that is none'}`);
