import type { IncomingMessage } from 'node:http';
import { truncateText } from '../lib/remove-invisible-characters.ts';

/** Longest path that an error message repeats, in characters. */
const DESCRIBED_PATH_CHARS_MAX = 200;

const AUTHORITY = /^https?:\/\/(?:[^/?#@]*@)?([^/?#]*)/i;

/** Returns the requested host. The host of an absolute URL takes precedence over the Host header (RFC 9112, 3.2.2). */
export const getRequestHost = ({ url, headers }: IncomingMessage): string | undefined =>
  (url?.startsWith('/') ? undefined : AUTHORITY.exec(url ?? '')?.[1]) ?? headers.host;

/**
 * Returns the path in the router's normal form: without host, query, repeated slashes and unnecessary escapes. The
 * protocol family of an unknown path must not depend on its spelling.
 */
export function getRequestPath({ url = '/' }: IncomingMessage): string {
  // Fast path: nearly all requests.
  if (/^(?:\/[\w.-]+)+$/.test(url)) return url;
  const [path = ''] = url.replace(AUTHORITY, '').split(/[?#]/, 1);
  return path.replace(/%[2-7][0-9a-f]/gi, decodeIfUnreserved).replace(/\/{2,}/g, '/');
}

function decodeIfUnreserved(escape: string): string {
  const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : escape;
}

export function getRequestQuery({ url }: IncomingMessage): URLSearchParams {
  const at = url?.indexOf('?') ?? -1;
  return new URLSearchParams(at < 0 ? '' : url?.slice(at + 1));
}

/** Returns method and path for error messages, e.g. `GET /v1/models`. Omits the query, which may contain secrets. */
export const describeRequest = (request: IncomingMessage): string =>
  `${request.method} ${describeRequestPath(request)}`;

/** Returns the path of a request without its query, truncated, for messages and the log. */
export const describeRequestPath = (request: IncomingMessage): string =>
  truncateText(getRequestPath(request), DESCRIBED_PATH_CHARS_MAX);
