import { ServiceError } from '../../core/error.ts';
import {
  PAGE_BYTES_MAX,
  PAGE_MS_MAX,
  PAGE_TEXT_CHARS_MAX,
  SEARCH_TITLE_CHARS_MAX,
  SEARCH_URL_CHARS_MAX,
} from '../../core/limits.ts';
import type { ReadPage } from '../../core/server-tools.ts';
import { createSiteRules } from '../../core/site-rules.ts';
import type { SiteWish } from '../../core/site-rules.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import { unlessAborted } from '../../lib/unless-aborted.ts';
import { readBody } from '../read-body.ts';
import { webAddress } from '../web-address.ts';
import type { WebAnswer, WebFetch } from '../web-fetch.ts';
import { cutParagraphs } from './element-text.ts';
import type { HostPace } from './host-pace.ts';
import { line } from './page-facts.ts';
import { pageKind } from './page-kind.ts';
import type { PageReader } from './page-reader.ts';
import type { PageReading } from './read-markup.ts';
import { readPlain } from './read-plain.ts';
import type { Robots } from './robots.ts';
import { refusesModels } from './robots-words.ts';

/** The text of a PDF. @throws ServiceError where it has none. */
export type ReadPdf = (bytes: Uint8Array, signal: AbortSignal) => Promise<string>;

export interface ReadPageOptions {
  readonly fetch: WebFetch;
  readonly robots: Robots;
  readonly pace: HostPace;
  readonly reader: PageReader;
  /** Absent: PDFs are not read. */
  readonly readPdf?: ReadPdf;
  readonly bytesMax?: number;
  /** Characters of the passage. */
  readonly charsMax?: number;
  /** For one page in all, in ms. */
  readonly wholeMs?: number;
}

/**
 * Pages as readable text. Hosts and robots rules are looked at before the page, and again before each redirect is followed; where a page
 * leads is where its source stands.
 */
export function createReadPage(options: ReadPageOptions): ReadPage {
  const { reader, readPdf, charsMax = PAGE_TEXT_CHARS_MAX, wholeMs = PAGE_MS_MAX } = options;

  const textOf = async ({ answer, bytes }: FetchedPage, signal: AbortSignal): Promise<PageReading> => {
    const { url, contentType } = answer;
    const kind = pageKind(contentType, bytes, url);
    if (kind !== 'pdf') return await reader.read({ kind, bytes, contentType, url, charsMax }, signal);
    if (!readPdf) throw new ServiceError('upstream-failed', 'The page is a PDF, which is not read here.');
    return readPlain(await readPdf(bytes, signal), { kind: 'text', charsMax });
  };

  const read = async (url: string, wish: SiteWish, signal: AbortSignal): ReturnType<ReadPage> => {
    const page = await fetchPage(url, { ...options, isOfSites: createSiteRules(wish) }, signal);
    if (refusesModels(page.answer.header('x-robots-tag'))) throw refused();
    const { title, siteName, icon, publishedAt, text, robots } = await textOf(page, signal);
    if (robots.some(refusesModels)) throw refused();
    if (text === '') throw new ServiceError('upstream-failed', 'The page has no text that can be read.');
    return {
      title: title || nameOf(page.answer.url),
      url: page.answer.url,
      siteName,
      icon,
      ...(publishedAt === undefined ? {} : { publishedAt }),
      passage: cutParagraphs(text, charsMax),
    };
  };

  return async ({ url: text, sites, blockedSites }, signal) => {
    signal.throwIfAborted();
    const url = webAddress(text, SEARCH_URL_CHARS_MAX);
    if (url === undefined)
      throw new ServiceError('invalid-request', 'A page is read at an address that begins with http:// or https://.');
    const whole = linkedAbort(signal);
    const timer = setTimeout(() => whole.abort(tookTooLong(wholeMs)), wholeMs);
    try {
      return await unlessAborted(read(url, { sites, blockedSites }, whole.signal), whole.signal);
    } finally {
      clearTimeout(timer);
      whole.unlink();
    }
  };
}

interface FetchedPage {
  readonly answer: WebAnswer;
  readonly bytes: Uint8Array;
}

/** The bytes of a page, as its caller, its rules and the pace of its host allow. */
async function fetchPage(
  url: string,
  { fetch, robots, pace, bytesMax = PAGE_BYTES_MAX, isOfSites }: ReadPageOptions & { isOfSites(url: string): boolean },
  signal: AbortSignal,
): Promise<FetchedPage> {
  let leave = (): void => undefined;
  const enter = async (next: string): Promise<void> => {
    if (!isOfSites(next)) throw new ServiceError('forbidden', 'The page is of a host that the caller does not allow.');
    const gapMs = await robots.check(next, signal);
    leave();
    leave = (): void => undefined;
    leave = await pace.enter(new URL(next).host, gapMs, signal);
  };
  try {
    await enter(url);
    const accept =
      'text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/pdf;q=0.8, */*;q=0.1';
    const answer = await fetch(url, { bytesMax, accept, signal, onRedirect: enter });
    if (answer.status < 200 || answer.status > 299) {
      answer.body.destroy();
      throw statusFailure(answer.status);
    }
    return { answer, bytes: await readBody(answer) };
  } finally {
    leave();
  }
}

function statusFailure(status: number): ServiceError {
  if (status === 404 || status === 410)
    return new ServiceError('not-found', `There is no such page (status ${status}).`);
  return new ServiceError('upstream-failed', `The server of the page answered with status ${status}.`);
}

const refused = (): ServiceError =>
  new ServiceError(
    'forbidden',
    'The page says that models are not to answer with it, or that nothing of it is to be quoted.',
  );

const tookTooLong = (ms: number): ServiceError =>
  new ServiceError('timeout', `The page could not be read within ${ms / 1_000} s.`);

/** The last part of its path, else its host. */
function nameOf(address: string): string {
  const { pathname, host } = new URL(address);
  const last = pathname.split('/').findLast((part) => part !== '') ?? '';
  return line(decoded(last), SEARCH_TITLE_CHARS_MAX) || host;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
