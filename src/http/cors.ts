import type { IncomingMessage } from 'node:http';

export interface CorsOptions {
  /** Origins of pages that may call, as browsers send them; `*` for any. None: no page may. */
  readonly origins: readonly string[];
}

/** What pages may read of an answer besides its body. */
const EXPOSED =
  'x-request-id, request-id, x-parley-ignored, x-parley-terms, x-parley-dropped-items, retry-after, server-timing, deprecation, link';

/** Seconds a browser may remember a preflight; two hours is the longest that browsers heed. */
const PREFLIGHT_SECONDS = 7_200;

/** Headers of an answer to a page of another origin; empty where there is no such page or it may not call. */
export function corsHeaders(request: IncomingMessage, { origins }: CorsOptions): Readonly<Record<string, string>> {
  const { origin } = request.headers;
  if (origins.length === 0) return {};
  if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return { vary: 'Origin' };
  return { vary: 'Origin', 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED };
}

/** A browser's question before the call itself; it carries no key. */
export const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;

export function preflightHeaders(
  request: IncomingMessage,
  methods: readonly string[],
): Readonly<Record<string, string>> {
  return {
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': request.headers['access-control-request-headers'] ?? 'authorization, content-type',
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  };
}
