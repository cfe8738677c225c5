import { Parser } from 'htmlparser2';
import { SEARCH_PROVIDER_RESULTS_MAX, SEARCH_QUERY_CHARS_MAX, SEARCH_URL_CHARS_MAX } from '../../../core/limits.ts';
import { webAddress } from '../../web-address.ts';
import { askService, failed } from '../ask-service.ts';
import type { ServiceNeeds } from '../ask-service.ts';
import type { SearchProvider } from '../search-provider.ts';

export interface KiwixOptions extends ServiceNeeds {
  readonly domain?: string | undefined;
  /** Names of the books to search in. Default: all, which the server refuses where they are in several languages. */
  readonly books?: readonly string[] | undefined;
  /** Three letters, such as `eng`: the books in that language, where none are named. */
  readonly language?: string | undefined;
}

interface Item {
  readonly title: string;
  readonly link: string;
  /** HTML: what was looked for stands in `b`. */
  readonly description: string;
  readonly book: string;
}

/** Of the server's: entries of a page. */
const PAGE_LENGTH_MAX = 140;

/** A server of ZIM files (`kiwix-serve`) by its full-text search. It tells no dates, so it finds nothing where they matter. */
export function createKiwix(options: KiwixOptions): SearchProvider {
  const { name, domain, url, books = [], language } = options;
  return {
    name,
    ...(domain === undefined ? {} : { domain }),
    async search({ text, resultsMax, freshnessDays }, signal) {
      if (freshnessDays !== undefined) return { results: [], findings: [] };
      const target = {
        pattern: text.slice(0, SEARCH_QUERY_CHARS_MAX),
        format: 'xml',
        pageLength: Math.min(resultsMax, SEARCH_PROVIDER_RESULTS_MAX, PAGE_LENGTH_MAX),
        ...(books.length === 0 && language !== undefined ? { 'books.filter.lang': language } : {}),
      };
      // One parameter may stand several times, which a record cannot say.
      const named = books.map((book) => `books.name=${encodeURIComponent(book)}`).join('&');
      const path = named === '' ? 'search' : `search?${named}`;
      const answer = await askService(options, {
        path,
        parameters: target,
        accept: 'application/xml, text/xml',
        signal,
      });
      const results = itemsOf(answer).map(({ title, link, description, book }) => ({
        title,
        // From the root of the server, whatever its own path.
        url: webAddress(link, SEARCH_URL_CHARS_MAX, url) ?? '',
        siteName: book,
        icon: '',
        passage: description,
      }));
      return { results, findings: [] };
    },
  };
}

/** @throws ServiceError `upstream-failed` where it is not the feed that was asked for. */
function itemsOf(xml: string): readonly Item[] {
  const items: Item[] = [];
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
        const within = path.slice(path.indexOf('item') + 1);
        if (!path.includes('item')) return;
        if (within[0] === 'title') item.title += escaped(text);
        else if (within[0] === 'link') item.link += text;
        // Marks of emphasis are elements here: only their text counts.
        else if (within[0] === 'description') item.description += escaped(text);
        else if (within[0] === 'book' && within[1] === 'title') item.book += escaped(text);
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
  if (!isFeed) throw failed('answered in a form that is not known');
  return items;
}

/** The text of an element as markup again, which is what a result is given as. */
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
