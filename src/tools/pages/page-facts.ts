import { SEARCH_SITE_NAME_CHARS_MAX, SEARCH_TITLE_CHARS_MAX, SEARCH_URL_CHARS_MAX } from '../../core/limits.ts';
import { cutText, visibleText } from '../../lib/visible-text.ts';
import { readDate } from '../read-date.ts';
import { webAddress } from '../web-address.ts';
import { wordsOf } from './page-document.ts';
import type { PageDocument } from './page-document.ts';

/** What a page says of itself, before anything is taken out of it. */
export interface PageFacts {
  readonly title: string;
  readonly siteName: string;
  readonly icon: string;
  readonly publishedAt?: number;
  /** Contents of the elements that speak to robots: to all, or to us. */
  readonly robots: readonly string[];
}

const DATES = [
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

/** @param url Where the page is. */
export function pageFacts(document: PageDocument, url: string): PageFacts {
  const said = new Map<string, string>();
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
    if (content !== '' && !said.has(name)) said.set(name, content);
  }
  // Pictures have titles as well.
  const title = [...document.querySelectorAll('title')].find(({ parentElement }) =>
    /^(?:head|body|html)$/.test(parentElement?.localName ?? ''),
  );
  const publishedAt =
    DATES.map((name) => readDate(said.get(name))).find((date) => date !== undefined) ?? markedDate(document);
  return {
    title: line(said.get('og:title') ?? title?.textContent ?? '', SEARCH_TITLE_CHARS_MAX),
    siteName: line(said.get('og:site_name') ?? said.get('application-name') ?? '', SEARCH_SITE_NAME_CHARS_MAX),
    icon: iconOf(document, url),
    ...(publishedAt === undefined ? {} : { publishedAt }),
    robots,
  };
}

/** One line of what a person would see. */
export const line = (text: string, charsMax: number): string =>
  cutText(
    visibleText(text.slice(0, charsMax * 4))
      .replaceAll(/\s+/gu, ' ')
      .trim(),
    charsMax,
  );

function markedDate(document: PageDocument): number | undefined {
  for (const element of document.querySelectorAll('[itemprop="datePublished"], time[pubdate]')) {
    const date = readDate(element.getAttribute('datetime') ?? element.getAttribute('content') ?? element.textContent);
    if (date !== undefined) return date;
  }
  return undefined;
}

/** The first that leads to the web; most pages name it twice. */
function iconOf(document: PageDocument, url: string): string {
  const [base] = document.querySelectorAll('base[href]');
  const from = webAddress(base?.getAttribute('href'), SEARCH_URL_CHARS_MAX, url) ?? url;
  for (const link of document.querySelectorAll('link[rel]')) {
    if (!wordsOf(link, 'rel').some((word) => word === 'icon' || word === 'apple-touch-icon')) continue;
    const icon = webAddress(link.getAttribute('href'), SEARCH_URL_CHARS_MAX, from);
    if (icon !== undefined) return icon;
  }
  return '';
}
