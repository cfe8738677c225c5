import type { IncomingMessage } from 'node:http';
import createPathRouter from 'find-my-way';
import { ServiceError } from '../core/error.ts';
import { PATH_PARAMETER_CHARS_MAX } from './limits.ts';
import type { ProtocolFamily } from '../protocols/endpoint.ts';
import { resolveFamily } from '../protocols/families.ts';
import { truncateText } from '../lib/remove-invisible-characters.ts';
import { describeRequest, getRequestPath } from './request-target.ts';
import { ROUTED_METHODS } from './routes.ts';
import type { HttpRoute, PathParams } from './routes.ts';

/** Handler of a request. It has no family if no route matched. */
export type RouteHandler = Pick<HttpRoute, 'operation' | 'run'> & Partial<Pick<HttpRoute, 'family' | 'isPublic'>>;

/** Finds the handler of a request. The handler for an unknown path rejects the request. */
export type FindHandler = (request: IncomingMessage) => {
  readonly handler: RouteHandler;
  readonly params: PathParams;
};

type RoutesByMethod = ReadonlyMap<string | undefined, HttpRoute>;

/**
 * Creates the router. The routes of each path cover every method, so the library gets each path once, as a GET route.
 *
 * @throws Error if two routes have the same method and path, or a path lacks a method: a static path without the method
 * would hide a path with parameters that has it.
 */
export function createRouter(routes: readonly HttpRoute[]): FindHandler {
  const router = createPathRouter({
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    maxParamLength: PATH_PARAMETER_CHARS_MAX,
    querystringParser: () => ({}), // endpoints get URLSearchParams
    onBadUrl: () => undefined, // makes `find` return a result without routes for a path that cannot be decoded
  });
  for (const [path, pathRoutes] of Map.groupBy(routes, (route) => route.path))
    router.on('GET', path, () => undefined, groupByMethod(pathRoutes));

  const findOperation = (method: string | undefined, path: string): string | undefined => {
    const found: { readonly store: RoutesByMethod | null } | null = router.find('GET', path);
    return found?.store?.get(method)?.operation;
  };

  return (request) => {
    const found: { readonly store: RoutesByMethod | null; readonly params: object } | null = router.find(
      'GET',
      request.url ?? '',
    );
    const handler = found?.store?.get(request.method);
    if (found && handler) return { handler, params: found.params as PathParams };
    const error =
      found?.store === null
        ? new ServiceError('invalid-request', 'The path contains invalid percent-encoding.')
        : // The message starts with the prescribed text (docs/wire/openai-compatible.md#errors).
          new ServiceError(
            'not-found',
            `Not found! No route matches ${describeRequest(request)}.${formatHint(request, findOperation)}`,
          );
    return { handler: createRejectingHandler(error), params: {} };
  };
}

/** Beginnings of paths, in the order in which they are tried, by the family of the requested path. */
const PATH_PREFIXES: Record<ProtocolFamily, readonly string[]> = {
  compatible: ['/v1', '', '/api/v1'],
  messages: ['/apps/anthropic', '/apps/anthropic/v1', '/v1'],
  native: ['/api/v1', '/v1'],
};

/** Operations of paths that are no use to a client that has asked for another path. */
const UNHELPFUL_OPERATIONS: ReadonlySet<string> = new Set(['refused-method', 'unserved', 'base-url']);

/** Names the path that works for a path with doubled, missing or wrong parts at its beginning. */
function formatHint(
  request: IncomingMessage,
  findOperation: (method: string | undefined, path: string) => string | undefined,
): string {
  const segments = getRequestPath(request)
    .split('/')
    .slice(1, PATH_SEGMENTS_TRIED + 1);
  const prefixes = PATH_PREFIXES[resolveFamily(getRequestPath(request))];
  const candidates = segments.flatMap((_, start) =>
    prefixes.map((prefix) => `${prefix}/${segments.slice(start).join('/')}`),
  );
  const path = candidates.find((candidate) => {
    const operation = findOperation(request.method, candidate);
    return operation !== undefined && !UNHELPFUL_OPERATIONS.has(operation);
  });
  return path === undefined
    ? ''
    : ` Did you mean ${request.method} ${truncateText(path, HINT_CHARS_MAX)}? Check the base URL of the client.`;
}

/** Segments of an unknown path, and characters of the path that is proposed instead. */
const PATH_SEGMENTS_TRIED = 12;
const HINT_CHARS_MAX = 200;

function groupByMethod(routes: readonly HttpRoute[]): RoutesByMethod {
  const byMethod = new Map<string, HttpRoute>();
  for (const route of routes)
    for (const method of route.methods) {
      if (byMethod.has(method)) throw new Error(`two routes for ${method} ${route.path}`);
      byMethod.set(method, route);
    }
  const missing = ROUTED_METHODS.find((method) => !byMethod.has(method));
  if (missing !== undefined) throw new Error(`no route for ${missing} ${routes[0]?.path}`);
  return byMethod;
}

/** Creates a handler that rejects every request with `error`. */
export const createRejectingHandler = (error: ServiceError): RouteHandler => ({
  operation: 'unknown',
  run: () => Promise.reject(error),
});
