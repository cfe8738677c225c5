import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../core/error.ts';
import { truncateText } from '../lib/remove-invisible-characters.ts';

export interface CorsOptions {
  /** Allowed origins of web pages, as browsers send them; `*` allows any. Empty: no page may call. */
  readonly origins: readonly string[];
}

/** Response headers that web pages may read. */
const EXPOSED_HEADERS =
  'x-request-id, request-id, x-parley-ignored, x-parley-search, x-parley-terms, x-parley-translation, x-parley-dropped-items, x-parley-estimated, retry-after, server-timing, deprecation, link';

/** Seconds that a browser may cache a preflight response. Two hours is the longest that browsers accept. */
const PREFLIGHT_MAX_AGE_SECONDS = 7_200;

/** Returns the CORS headers of a response. Only an allowed origin gets access. */
export function createCorsHeaders(
  request: IncomingMessage,
  { origins }: CorsOptions,
): Readonly<Record<string, string>> {
  const { origin } = request.headers;
  if (origins.length === 0) return {};
  if (origin === undefined || !isOriginAllowed(request, { origins })) return { vary: 'Origin' };
  return { vary: 'Origin', 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED_HEADERS };
}

export const isOriginAllowed = ({ headers: { origin } }: IncomingMessage, { origins }: CorsOptions): boolean =>
  origin !== undefined && (origins.includes('*') || origins.includes(origin));

/** Creates the error for the preflight of a web page that may not call. */
export const createOriginError = ({ headers: { origin = '' } }: IncomingMessage): ServiceError =>
  new ServiceError(
    'forbidden',
    `Web pages of the origin ${truncateText(origin, ORIGIN_CHARS_SHOWN)} may not call. The operator allows it with the setting cors.origins.`,
  );

/** Characters of an origin that an error message repeats. */
const ORIGIN_CHARS_SHOWN = 100;

/** Tells whether a request is a browser's CORS preflight, which carries no key. */
export const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;

export function createPreflightHeaders(
  request: IncomingMessage,
  methods: readonly string[],
): Readonly<Record<string, string>> {
  return {
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': request.headers['access-control-request-headers'] ?? 'authorization, content-type',
    'access-control-max-age': String(PREFLIGHT_MAX_AGE_SECONDS),
  };
}
