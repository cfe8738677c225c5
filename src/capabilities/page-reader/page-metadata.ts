import { SEARCH_SITE_NAME_CHARS_MAX, SEARCH_TITLE_CHARS_MAX, SEARCH_URL_CHARS_MAX } from '../../tools/limits.ts';
import { truncateText, removeInvisibleCharacters } from '../../lib/remove-invisible-characters.ts';
import { parsePublicationDate } from '../../tools/parse-publication-date.ts';
import { parseWebUrl } from '../../tools/web-url.ts';
import { getAttributeWords } from './page-document.ts';
import type { PageDocument } from './page-document.ts';

/** Metadata of a page, read before any element is removed. */
export interface PageMetadata {
  readonly title: string;
  readonly siteName: string;
  readonly icon: string;
  readonly publishedAt?: number;
  /** Contents of the `meta` elements for all robots and for Parley. */
  readonly robots: readonly string[];
}

const DATE_NAMES = [
  'article:published_time',
  'datepublished',
  'publishdate',
  'publish-date',
  'pubdate',
  'date',
  'dc.date',
  'dc.date.issued',
  'dcterms.issued',
  'dcterms.created',
  'dcterms.date',
  'parsely-pub-date',
  'sailthru.date',
];

/** @param url URL of the page. */
export function readPageMetadata(document: PageDocument, url: string): PageMetadata {
  const contents = new Map<string, string>();
  const robots: string[] = [];
  for (const meta of document.querySelectorAll('meta')) {
    const name = (
      meta.getAttribute('property') ??
      meta.getAttribute('name') ??
      meta.getAttribute('itemprop') ??
      ''
    ).toLowerCase();
    const content = meta.getAttribute('content') ?? '';
    if (name === 'robots' || name === 'parley') robots.push(content);
    if (content !== '' && !contents.has(name)) contents.set(name, content);
  }
  // SVG images have `title` elements as well.
  const title = [...document.querySelectorAll('title')].find(({ parentElement }) =>
    /^(?:head|body|html)$/.test(parentElement?.localName ?? ''),
  );
  const publishedAt =
    DATE_NAMES.map((name) => parsePublicationDate(contents.get(name))).find((date) => date !== undefined) ??
    findMarkedDate(document);
  return {
    title: toSingleLine(contents.get('og:title') ?? title?.textContent ?? '', SEARCH_TITLE_CHARS_MAX),
    siteName: toSingleLine(
      contents.get('og:site_name') ?? contents.get('application-name') ?? '',
      SEARCH_SITE_NAME_CHARS_MAX,
    ),
    icon: findIcon(document, url),
    ...(publishedAt === undefined ? {} : { publishedAt }),
    robots,
  };
}

/** Returns visible text as a single line. */
export const toSingleLine = (text: string, charsMax: number): string =>
  truncateText(
    removeInvisibleCharacters(text.slice(0, charsMax * 4))
      .replaceAll(/\s+/gu, ' ')
      .trim(),
    charsMax,
  );

function findMarkedDate(document: PageDocument): number | undefined {
  for (const element of document.querySelectorAll('[itemprop="datePublished"], time[pubdate]')) {
    const date = parsePublicationDate(
      element.getAttribute('datetime') ?? element.getAttribute('content') ?? element.textContent,
    );
    if (date !== undefined) return date;
  }
  return undefined;
}

/** Returns the first icon with an http(s) URL, or an empty string. */
function findIcon(document: PageDocument, url: string): string {
  const [base] = document.querySelectorAll('base[href]');
  const baseUrl = parseWebUrl(base?.getAttribute('href'), SEARCH_URL_CHARS_MAX, url) ?? url;
  for (const link of document.querySelectorAll('link[rel]')) {
    if (!getAttributeWords(link, 'rel').some((word) => word === 'icon' || word === 'apple-touch-icon')) continue;
    const icon = parseWebUrl(link.getAttribute('href'), SEARCH_URL_CHARS_MAX, baseUrl);
    if (icon !== undefined) return icon;
  }
  return '';
}
