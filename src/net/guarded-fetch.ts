import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { FETCH_CONNECT_MS, FETCH_HEAD_MS, FETCH_REDIRECTS_MAX, FETCH_TOTAL_MS } from './limits.ts';
import { createBoundedBody, parseContentEncoding } from './bounded-body.ts';
import { createFetchDeadlines } from './fetch-deadlines.ts';
import { createInvalidUrlError, createServerError, createTooLargeError } from './fetch-errors.ts';
import { sendRequest, type RequestContent, type SendRequestOptions } from './send-request.ts';
import { resolveWithSystem, type ResolveHost } from './resolve-host.ts';
import { createUrlRules } from './url-rules.ts';

export interface FetchTimeouts {
  /** For each redirect: until the name is resolved and the connection is open, including TLS. */
  readonly connectMs: number;
  /** For each redirect: from then until the response headers have arrived. */
  readonly headMs: number;
  /** From the call to the last byte of the body, including the time that its reader takes. */
  readonly totalMs: number;
}

export interface GuardedFetchOptions {
  /** As in `UrlRulesOptions`: names, addresses and networks that are allowed although they are not public. */
  readonly allow?: readonly string[] | undefined;
  /** As in `UrlRulesOptions`. */
  readonly ports?: readonly number[] | undefined;
  readonly timeouts?: Partial<FetchTimeouts> | undefined;
  readonly redirectsMax?: number | undefined;
  /** Whether an https URL may redirect to an http one. */
  readonly allowsDowngrade?: boolean | undefined;
  /** PEM texts of the authorities to trust instead of the runtime's. */
  readonly certificates?: readonly string[] | undefined;
  /** The User-Agent header. Default: `parley`. */
  readonly userAgent?: string | undefined;
  /** Default: the resolver of the system. */
  readonly resolve?: ResolveHost | undefined;
}

export interface FetchOptions {
  /** Limit of the received and of the decompressed body. Fails with `too-large`, at once if a length is announced. */
  readonly bytesMax: number;
  /** The Accept header. Default: anything. */
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Additional headers with lower-case names. Sent to the origin of the URL only. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sends a POST with this body. Redirects of a POST are not followed, but returned. */
  readonly content?: RequestContent | undefined;
  /** Called with the target of each redirect before the next request. An exception ends the fetch. */
  readonly onRedirect?: ((url: string) => Promise<void>) | undefined;
}

export interface FetchResponse {
  /** Any status except followed redirects; the caller decides what to accept. */
  readonly status: number;
  /** URL of the response, after redirects. */
  readonly url: string;
  /** The header as sent by the server, or an empty string. */
  readonly contentType: string;
  readonly contentDisposition: string;
  /** Returns any other header by its lower-case name, or an empty string. */
  getHeader(name: string): string;
  /** Decompressed. A reader that stops early must destroy it. Its errors are ServiceErrors. */
  readonly body: Readable;
}

/**
 * @throws ServiceError `invalid-request` for a URL that is not allowed or a host without a public address;
 * `upstream-failed` if the server does not respond correctly; `timeout`; `too-large`; or the signal's reason.
 */
export type GuardedFetch = (url: string, options: FetchOptions) => Promise<FetchResponse>;

const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * The only way to fetch a URL that does not come from the configuration. It reaches public hosts only, also after
 * redirects, and everything it receives has a limit. It sends nothing that identifies the caller, unless the options
 * contain it.
 *
 * @throws ServiceError `invalid-request` if an entry of `allow` is invalid.
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const { timeouts, redirectsMax = FETCH_REDIRECTS_MAX, allowsDowngrade = false, certificates } = options;
  const { connectMs = FETCH_CONNECT_MS, headMs = FETCH_HEAD_MS, totalMs = FETCH_TOTAL_MS } = timeouts ?? {};
  const rules = createUrlRules({ allow: options.allow ?? [], ports: options.ports });
  const resolve = options.resolve ?? resolveWithSystem;

  const followRedirects = async (
    text: string,
    sendOptions: SendRequestOptions,
    onRedirect: FetchOptions['onRedirect'],
  ): Promise<{ url: URL; response: IncomingMessage }> => {
    let url = rules.parse(text);
    const { origin } = url;
    for (let redirects = 0; ; redirects += 1) {
      const response = await sendRequest(
        url,
        url.origin === origin ? sendOptions : { ...sendOptions, headers: undefined },
      );
      if (sendOptions.content) return { url, response };
      const { statusCode = 0, headers } = response;
      if (!REDIRECT_STATUSES.has(statusCode) || headers.location === undefined) return { url, response };
      response.destroy();
      if (redirects === redirectsMax) throw createServerError(`redirects more than ${redirectsMax} times`);
      const next = rules.parse(headers.location, url);
      if (url.protocol === 'https:' && next.protocol === 'http:' && !allowsDowngrade) {
        throw createInvalidUrlError('redirects from https:// to http://');
      }
      await onRedirect?.(next.href);
      url = next;
    }
  };

  return async (text, { bytesMax, accept = '*/*', signal, headers, content, onRedirect }) => {
    const deadlines = createFetchDeadlines(signal, totalMs);
    let response: IncomingMessage | undefined;
    try {
      const { userAgent } = options;
      const requestOptions = { accept, userAgent, headers, content };
      const sendOptions = { rules, resolve, deadlines, connectMs, headMs, certificates, ...requestOptions };
      const { url, response: finalResponse } = await followRedirects(text, sendOptions, onRedirect);
      response = finalResponse;
      const encoding = parseContentEncoding(finalResponse);
      if (Number(finalResponse.headers['content-length'] ?? 0) > bytesMax) throw createTooLargeError(bytesMax);
      return {
        status: finalResponse.statusCode ?? 0,
        url: url.href,
        contentType: finalResponse.headers['content-type'] ?? '',
        contentDisposition: finalResponse.headers['content-disposition'] ?? '',
        getHeader: (name) => [finalResponse.headers[name] ?? ''].flat().join(', '),
        body: createBoundedBody(finalResponse, {
          encoding,
          bytesMax,
          signal: deadlines.signal,
          onClose: deadlines.close,
        }),
      };
    } catch (thrown) {
      response?.destroy();
      deadlines.close();
      throw thrown;
    }
  };
}
