import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { FETCH_CONNECT_MS, FETCH_HEAD_MS, FETCH_REDIRECTS_MAX, FETCH_WHOLE_MS } from '../core/limits.ts';
import { boundedBody, packingOf } from './bounded-body.ts';
import { createFetchDeadlines } from './fetch-deadlines.ts';
import { notAllowed, serverFailed, tooLarge } from './fetch-refusals.ts';
import { hop } from './hop.ts';
import type { Content, HopNeeds } from './hop.ts';
import { systemResolve } from './resolve.ts';
import type { Resolve } from './resolve.ts';
import { createUrlRules } from './url-rules.ts';

export interface FetchTimeouts {
  /** Of each redirect: until the name is resolved and the connection stands, TLS included. */
  readonly connectMs: number;
  /** Of each redirect: from then on until the answer's head is there. */
  readonly headMs: number;
  /** From the call to the last byte of the body, with the time that its reader takes. */
  readonly wholeMs: number;
}

export interface GuardedFetchOptions {
  /** As in `UrlRulesOptions`: names, addresses and networks that may be asked although they are not public. */
  readonly allow?: readonly string[] | undefined;
  /** As in `UrlRulesOptions`. */
  readonly ports?: readonly number[] | undefined;
  readonly timeouts?: Partial<FetchTimeouts> | undefined;
  readonly redirectsMax?: number | undefined;
  /** Whether an https URL may redirect to an http one. */
  readonly mayDowngrade?: boolean | undefined;
  /** PEM texts of authorities that are trusted in the place of the runtime's own. */
  readonly certificates?: readonly string[] | undefined;
  /** Who asks, in words for whoever reads a server's log. Default: a name that tells nothing. */
  readonly userAgent?: string | undefined;
  /** Default: the system's. */
  readonly resolve?: Resolve | undefined;
}

export interface FetchWish {
  /** Of the body as it is sent and as it is unpacked. Beyond: `too-large`, at once where a length is announced. */
  readonly bytesMax: number;
  /** The Accept header. Default: anything. */
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Beside those that every request has; lower-case names. No other origin than that of the URL is sent them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Makes it a POST. It goes to nobody but the server that was named: a redirect is then an answer like any other. */
  readonly content?: Content | undefined;
  /** Hears where a redirect leads before anybody is asked there. What it throws ends the fetch. */
  readonly onRedirect?: ((url: string) => Promise<void>) | undefined;
}

export interface Fetched {
  /** Of any class but redirects that were followed: whether it is good is for the caller to say. */
  readonly status: number;
  /** Where the answer came from, after redirects. */
  readonly url: string;
  /** As the server wrote it, empty where it did not. */
  readonly contentType: string;
  readonly contentDisposition: string;
  /** Any other header of the answer by its lower-case name, empty where it has none. */
  header(name: string): string;
  /** Unpacked. Whoever does not read it to its end destroys it; its errors are ServiceErrors, as those of the call. */
  readonly body: Readable;
}

/**
 * @throws ServiceError `invalid-request` for a URL that is not allowed or a host that has no public address;
 * `upstream-failed` for a server that does not answer as it should; `timeout`; `too-large`; or the signal's reason.
 */
export type GuardedFetch = (url: string, wish: FetchWish) => Promise<Fetched>;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * The one way to a URL that did not come from configuration: it leads to public hosts only, also after redirects, and
 * everything it takes has a bound. It sends nothing that tells who asks, unless `options` or a wish say so.
 *
 * @throws ServiceError `invalid-request` where `allow` cannot be read.
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const { timeouts, redirectsMax = FETCH_REDIRECTS_MAX, mayDowngrade = false, certificates } = options;
  const { connectMs = FETCH_CONNECT_MS, headMs = FETCH_HEAD_MS, wholeMs = FETCH_WHOLE_MS } = timeouts ?? {};
  const rules = createUrlRules({ allow: options.allow ?? [], ports: options.ports });
  const resolve = options.resolve ?? systemResolve;

  const follow = async (
    text: string,
    needs: HopNeeds,
    onRedirect: FetchWish['onRedirect'],
  ): Promise<{ url: URL; response: IncomingMessage }> => {
    let url = rules.parse(text);
    const { origin } = url;
    for (let redirects = 0; ; redirects += 1) {
      const response = await hop(url, url.origin === origin ? needs : { ...needs, headers: undefined });
      if (needs.content) return { url, response };
      const { statusCode = 0, headers } = response;
      if (!REDIRECTS.has(statusCode) || headers.location === undefined) return { url, response };
      response.destroy();
      if (redirects === redirectsMax) throw serverFailed(`redirects more than ${redirectsMax} times`);
      const next = rules.parse(headers.location, url);
      if (url.protocol === 'https:' && next.protocol === 'http:' && !mayDowngrade) {
        throw notAllowed('begins with https:// and redirects to http://');
      }
      await onRedirect?.(next.href);
      url = next;
    }
  };

  return async (text, { bytesMax, accept = '*/*', signal, headers, content, onRedirect }) => {
    const deadlines = createFetchDeadlines(signal, wholeMs);
    let answer: IncomingMessage | undefined;
    try {
      const { userAgent } = options;
      const asked = { accept, userAgent, headers, content };
      const needs = { rules, resolve, deadlines, connectMs, headMs, certificates, ...asked };
      const { url, response } = await follow(text, needs, onRedirect);
      answer = response;
      const packing = packingOf(response);
      if (Number(response.headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax);
      return {
        status: response.statusCode ?? 0,
        url: url.href,
        contentType: response.headers['content-type'] ?? '',
        contentDisposition: response.headers['content-disposition'] ?? '',
        header: (name) => [response.headers[name] ?? ''].flat().join(', '),
        body: boundedBody(response, { packing, bytesMax, signal: deadlines.signal, onEnd: deadlines.end }),
      };
    } catch (thrown) {
      answer?.destroy();
      deadlines.end();
      throw thrown;
    }
  };
}
