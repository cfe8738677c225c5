import { Parser } from 'htmlparser2';
import { SEARCH_PROVIDER_RESULTS_MAX, SEARCH_QUERY_CHARS_MAX, SEARCH_URL_CHARS_MAX } from '../../limits.ts';
import { parseWebUrl } from '../../web-url.ts';
import { requestText, createFormatError, type SearchServiceOptions } from '../search-service.ts';
import type { SearchProvider } from '../search-provider.ts';

export interface KiwixOptions extends SearchServiceOptions {
  readonly domain?: string | undefined;
  /** Names of the books to search. Default: all, which the server refuses if their languages differ. */
  readonly books?: readonly string[] | undefined;
  /** Three letters, such as `eng`: searches the books in this language if `books` is empty. */
  readonly language?: string | undefined;
}

interface FeedItem {
  readonly title: string;
  readonly link: string;
  /** HTML with the search terms in `b` elements. */
  readonly description: string;
  readonly book: string;
}

/** Limit of the server: entries per page. */
const PAGE_LENGTH_MAX = 140;

/**
 * Searches ZIM files with a `kiwix-serve` server. It reports no dates, so queries with `freshnessDays` find nothing.
 */
export function createKiwix(options: KiwixOptions): SearchProvider {
  const { name, domain, url, books = [], language } = options;
  return {
    name,
    ...(domain === undefined ? {} : { domain }),
    async search({ text, resultsMax, freshnessDays }, signal) {
      if (freshnessDays !== undefined) return { results: [], findings: [] };
      const parameters = {
        pattern: text.slice(0, SEARCH_QUERY_CHARS_MAX),
        format: 'xml',
        pageLength: Math.min(resultsMax, SEARCH_PROVIDER_RESULTS_MAX, PAGE_LENGTH_MAX),
        ...(books.length === 0 && language !== undefined ? { 'books.filter.lang': language } : {}),
      };
      // The parameter may occur several times, which a record cannot represent.
      const bookFilter = books.map((book) => `books.name=${encodeURIComponent(book)}`).join('&');
      const path = bookFilter === '' ? 'search' : `search?${bookFilter}`;
      const feed = await requestText(options, {
        path,
        parameters,
        accept: 'application/xml, text/xml',
        signal,
      });
      const results = parseFeed(feed).map(({ title, link, description, book }) => ({
        title,
        // Links start at the root of the server, whatever the path of its base URL.
        url: parseWebUrl(link, SEARCH_URL_CHARS_MAX, url) ?? '',
        siteName: book,
        icon: '',
        passage: description,
      }));
      return { results, findings: [] };
    },
  };
}

/** @throws ServiceError `upstream-failed` for a response that is not an RSS feed. */
function parseFeed(xml: string): readonly FeedItem[] {
  const items: FeedItem[] = [];
  const path: string[] = [];
  let item = { title: '', link: '', description: '', book: '' };
  let isFeed = false;
  const parser = new Parser(
    {
      onopentag(name) {
        path.push(name);
        isFeed ||= path.join('/') === 'rss/channel';
        if (name === 'item') item = { title: '', link: '', description: '', book: '' };
      },
      ontext(text) {
        const pathInItem = path.slice(path.indexOf('item') + 1);
        if (!path.includes('item')) return;
        if (pathInItem[0] === 'title') item.title += escapeMarkup(text);
        else if (pathInItem[0] === 'link') item.link += text;
        // Emphasis is marked by child elements; their text is collected as well.
        else if (pathInItem[0] === 'description') item.description += escapeMarkup(text);
        else if (pathInItem[0] === 'book' && pathInItem[1] === 'title') item.book += escapeMarkup(text);
      },
      onclosetag(name) {
        path.pop();
        if (name === 'item' && items.length < SEARCH_PROVIDER_RESULTS_MAX)
          items.push({ ...item, link: item.link.trim() });
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(xml);
  if (!isFeed) throw createFormatError();
  return items;
}

/** Escapes text, because result fields are markup. */
const escapeMarkup = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
