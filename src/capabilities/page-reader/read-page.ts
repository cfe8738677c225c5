import { ServiceError } from '../../core/error.ts';
import { PAGE_BYTES_MAX, PAGE_TEXT_CHARS_MAX } from '../../core/limits.ts';
import { SEARCH_TITLE_CHARS_MAX, SEARCH_URL_CHARS_MAX } from '../../tools/limits.ts';
import { PAGE_MS_MAX } from './limits.ts';
import type { ReadPage } from '../../core/server-tools.ts';
import { createSiteMatcher } from '../../core/site-filter.ts';
import type { SiteFilter } from '../../core/site-filter.ts';
import { createLinkedAbort } from '../../lib/linked-abort.ts';
import { raceWithAbort } from '../../lib/race-with-abort.ts';
import { readBody } from '../../tools/read-body.ts';
import { parseWebUrl } from '../../tools/web-url.ts';
import type { WebResponse, WebFetch } from '../../tools/web-fetch.ts';
import { truncateAtParagraph } from './element-text.ts';
import type { HostRateLimiter } from './host-rate-limiter.ts';
import { toSingleLine } from './page-metadata.ts';
import { detectPageKind } from './detect-page-kind.ts';
import type { PageReader, PageReadOptions } from './page-reader.ts';
import type { PageContent } from './extract-html-page.ts';
import { extractTextPage } from './extract-text-page.ts';
import type { RobotsPolicy } from './robots-policy.ts';
import { forbidsModelUse } from './robots-directives.ts';

/** Extracts the text of a PDF. @throws ServiceError if it has none. */
export type ReadPdf = (bytes: Uint8Array, options: PageReadOptions) => Promise<string>;

export interface ReadPageOptions {
  readonly fetch: WebFetch;
  readonly robots: RobotsPolicy;
  readonly rateLimiter: HostRateLimiter;
  readonly reader: PageReader;
  /** Absent: PDFs are refused. */
  readonly readPdf?: ReadPdf;
  readonly bytesMax?: number;
  /** Maximum characters of the passage. */
  readonly charsMax?: number;
  /** Limit in ms for one page. */
  readonly totalMs?: number;
}

/**
 * Creates a function that returns pages as readable text. Checks the site filter and the robots rules before the page
 * and before each redirect. The URL of the result is the one after redirects.
 */
export function createReadPage(options: ReadPageOptions): ReadPage {
  const { reader, readPdf, charsMax = PAGE_TEXT_CHARS_MAX, totalMs = PAGE_MS_MAX } = options;

  const readContent = async ({ response, bytes }: FetchedPage, readOptions: PageReadOptions): Promise<PageContent> => {
    const { url, contentType } = response;
    const kind = detectPageKind(contentType, bytes, url);
    if (kind !== 'pdf') return await reader.read({ kind, bytes, contentType, url, charsMax }, readOptions);
    if (!readPdf) throw new ServiceError('upstream-failed', 'The page is a PDF, which is not supported here.');
    return extractTextPage(await readPdf(bytes, readOptions), { kind: 'text', charsMax });
  };

  const read = async (url: string, siteFilter: SiteFilter, readOptions: PageReadOptions): ReturnType<ReadPage> => {
    const page = await fetchPage(url, { ...options, matchesSites: createSiteMatcher(siteFilter) }, readOptions.signal);
    if (forbidsModelUse(page.response.getHeader('x-robots-tag'))) throw createModelUseError();
    const { title, siteName, icon, publishedAt, text, robots } = await readContent(page, readOptions);
    if (robots.some(forbidsModelUse)) throw createModelUseError();
    if (text === '') throw new ServiceError('upstream-failed', 'The page has no readable text.');
    return {
      title: title || getPageName(page.response.url),
      url: page.response.url,
      siteName,
      icon,
      ...(publishedAt === undefined ? {} : { publishedAt }),
      passage: truncateAtParagraph(text, charsMax),
    };
  };

  return async ({ url: requestedUrl, tenant, sites, blockedSites }, signal) => {
    signal.throwIfAborted();
    const url = parseWebUrl(requestedUrl, SEARCH_URL_CHARS_MAX);
    if (url === undefined)
      throw new ServiceError('invalid-request', 'The URL of a page must begin with http:// or https://.');
    const totalAbort = createLinkedAbort(signal);
    const timer = setTimeout(() => totalAbort.abort(createTimeoutError(totalMs)), totalMs);
    try {
      const reading = read(url, { sites, blockedSites }, { tenant, signal: totalAbort.signal });
      return await raceWithAbort(reading, totalAbort.signal);
    } finally {
      clearTimeout(timer);
      totalAbort.unlink();
    }
  };
}

interface FetchedPage {
  readonly response: WebResponse;
  readonly bytes: Uint8Array;
}

/** Fetches a page if the site filter, the robots rules and the rate limit of its host allow it. */
async function fetchPage(
  url: string,
  {
    fetch,
    robots,
    rateLimiter,
    bytesMax = PAGE_BYTES_MAX,
    matchesSites,
  }: ReadPageOptions & { matchesSites(url: string): boolean },
  signal: AbortSignal,
): Promise<FetchedPage> {
  let release = (): void => undefined;
  const admit = async (next: string): Promise<void> => {
    if (!matchesSites(next))
      throw new ServiceError('forbidden', 'The site filter of the request does not allow the host of the page.');
    const gapMs = await robots.check(next, signal);
    release();
    release = (): void => undefined;
    release = await rateLimiter.acquire(new URL(next).host, gapMs, signal);
  };
  try {
    await admit(url);
    const accept =
      'text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/pdf;q=0.8, */*;q=0.1';
    const response = await fetch(url, { bytesMax, accept, signal, onRedirect: admit });
    if (response.status < 200 || response.status > 299) {
      response.body.destroy();
      throw statusToError(response.status);
    }
    return { response, bytes: await readBody(response) };
  } finally {
    release();
  }
}

function statusToError(status: number): ServiceError {
  if (status === 404 || status === 410)
    return new ServiceError('not-found', `The page does not exist (status ${status}).`);
  return new ServiceError('upstream-failed', `The server of the page responded with status ${status}.`);
}

const createModelUseError = (): ServiceError =>
  new ServiceError('forbidden', 'The page forbids its use by models or any quotation (robots directives).');

const createTimeoutError = (ms: number): ServiceError =>
  new ServiceError('timeout', `The page could not be read within ${ms / 1_000} s.`);

/** Returns the last segment of the path, or the host. */
function getPageName(pageUrl: string): string {
  const { pathname, host } = new URL(pageUrl);
  const lastSegment = pathname.split('/').findLast((part) => part !== '') ?? '';
  return toSingleLine(decodePathPart(lastSegment), SEARCH_TITLE_CHARS_MAX) || host;
}

function decodePathPart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
