import { z } from 'zod';
import { parsePublicationDate } from '../../parse-publication-date.ts';
import { requestSearchJson, createServiceError, type SearchServiceOptions } from '../search-service.ts';
import type { SearchProvider } from '../search-provider.ts';

export interface MediawikiOptions extends SearchServiceOptions {
  readonly domain?: string | undefined;
}

/** Limit of the wiki: pages per query for extracts. */
const EXTRACTS_MAX = 20;

/** Limit of the wiki and its search backends: characters of a query. */
const QUERY_CHARS_MAX = 300;

/** MediaWiki reports errors with status 200. */
const errorSchema = { error: z.object({ code: z.string() }).optional() };

const Hits = z.object({
  ...errorSchema,
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
  ...errorSchema,
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
 * Searches a wiki with the MediaWiki Action API (`api.php` below the base URL): one query for hits, one for the URLs
 * and extracts of these pages. A wiki without the TextExtracts extension returns no extracts, and only the snippets are
 * used. The date of a page is that of its last edit.
 */
export function createMediawiki(options: MediawikiOptions): SearchProvider {
  const { name, domain } = options;
  const callApi = async <Answer extends { readonly error?: { readonly code: string } | undefined }>(
    parameters: Readonly<Record<string, string | number>>,
    schema: z.ZodType<Answer>,
    signal: AbortSignal,
  ): Promise<Answer> => {
    const request = {
      path: 'api.php',
      parameters: { action: 'query', format: 'json', formatversion: 2, ...parameters },
    };
    const response = await requestSearchJson(options, { ...request, accept: 'application/json', signal }, schema);
    if (response.error) throw codeToError(response.error.code);
    return response;
  };
  return {
    name,
    ...(domain === undefined ? {} : { domain }),
    async search({ text, resultsMax }, signal) {
      const { query } = await callApi(
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
      const details = await callApi(
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
      const pages = new Map(details.query?.pages.map((page) => [page.pageid, page]));
      const results = hits.map(({ pageid, title, snippet, timestamp }) => {
        const { fullurl, extract } = pages.get(pageid) ?? {};
        const publishedAt = parsePublicationDate(timestamp);
        return {
          title,
          url: fullurl ?? '',
          siteName: details.query?.general?.sitename ?? '',
          icon: '',
          ...(publishedAt === undefined ? {} : { publishedAt }),
          // Snippets come first: they contain the search terms, which the introduction of a long article may not.
          passage: [snippet, escapeText(extract ?? '')].filter((part) => part).join('<br>'),
        };
      });
      return { results, findings: [] };
    },
  };
}

/** Escapes an extract, which is plain text, for a passage, which is HTML like a snippet. */
const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('\n', '<br>');

/** The error code contains nothing of the query. */
const codeToError = (code: string) =>
  code === 'ratelimited' || code === 'maxlag'
    ? createServiceError('has received too many requests', 10)
    : createServiceError(`responded with the error ${/^[\w-]{1,60}$/.test(code) ? code : '(invalid code)'}`);
