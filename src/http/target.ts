import type { IncomingMessage } from 'node:http';

const AUTHORITY = /^https?:\/\/(?:[^/?#@]*@)?([^/?#]*)/i;

/** The host that was asked for. The one in a whole address goes before the header's (RFC 9112, 3.2.2). */
export const hostOf = ({ url, headers }: IncomingMessage): string | undefined =>
  (url?.startsWith('/') ? undefined : AUTHORITY.exec(url ?? '')?.[1]) ?? headers.host;

/**
 * The path as the router compares it: without host, query, slashes too many and escapes that need none. What follows from
 * a path no route is known by must not depend on how it was written.
 */
export function pathOf({ url = '/' }: IncomingMessage): string {
  // As nearly all are written.
  if (/^(?:\/[\w.-]+)+$/.test(url)) return url;
  const [path = ''] = url.replace(AUTHORITY, '').split(/[?#]/, 1);
  return path.replace(/%[2-7][0-9a-f]/gi, plainIfUnreserved).replace(/\/{2,}/g, '/');
}

function plainIfUnreserved(escape: string): string {
  const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : escape;
}

export function queryOf({ url }: IncomingMessage): URLSearchParams {
  const at = url?.indexOf('?') ?? -1;
  return new URLSearchParams(at < 0 ? '' : url?.slice(at + 1));
}
