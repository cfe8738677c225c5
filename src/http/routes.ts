import { METHODS } from 'node:http';
import { ServiceError } from '../core/error.ts';
import type { EndpointDeprecation, Endpoint, ProtocolFamily } from '../protocols/endpoint.ts';
import { resolveFamily } from '../protocols/families.ts';
import { expandPathAliases, listUnservedRoutes, type UnservedRoute } from '../protocols/interfaces.ts';
import { authorize, checkRegion, type Authenticate } from './authenticate.ts';
import { runEndpoint, type RunEndpointDeps } from './run-endpoint.ts';
import type { Call } from './call.ts';
import { writeResponse } from './write-response.ts';
import type { Probe } from './probes.ts';
import { createOriginError, createPreflightHeaders, isOriginAllowed, isPreflight, type CorsOptions } from './cors.ts';
import { describeRequest, getRequestQuery } from './request-target.ts';

export type PathParams = Readonly<Record<string, string>>;

/** All methods that reach a router; node:http handles CONNECT by itself. */
export const ROUTED_METHODS: readonly string[] = METHODS.filter((method) => method !== 'CONNECT');

/** A path, the methods that share a handler, and that handler. `run` throws a ServiceError for a rejected request. */
export interface HttpRoute {
  readonly methods: readonly string[];
  readonly path: string;
  readonly family: ProtocolFamily;
  readonly operation: string;
  /** True if the route answers without a key. The test that walks all routes lists them in `PUBLIC`. */
  readonly isPublic: boolean;
  /** Set if the endpoint is deprecated. Its responses announce that. */
  readonly deprecated?: EndpointDeprecation | undefined;
  readonly run: (call: Call, params: PathParams) => Promise<void>;
}

export interface RoutesDeps extends RunEndpointDeps {
  readonly endpoints: readonly Endpoint[];
  readonly probes: readonly Probe[];
  readonly authenticate: Authenticate;
  /** Web pages of other origins that may call. */
  readonly cors: CorsOptions;
}

/**
 * Creates all routes: the endpoints with their path aliases, documented paths that are not served, the probes, and for
 * each path a route that rejects the other methods.
 */
export function createRoutes(deps: RoutesDeps): readonly HttpRoute[] {
  const routes: readonly HttpRoute[] = [
    ...deps.endpoints.flatMap((endpoint) => createEndpointRoutes(endpoint, deps)),
    ...listUnservedRoutes(deps.endpoints).flatMap((route) => createUnservedRoutes(route, deps)),
    ...deps.probes.map(createProbeRoute),
    ...BASE_URLS.map(createBaseUrlRoute),
  ];
  return [...routes, ...createMethodRefusalRoutes(routes, deps)];
}

function createEndpointRoutes(endpoint: Endpoint, deps: RoutesDeps): HttpRoute[] {
  const { method, family, operation, regions, deprecated, resolveOwner } = endpoint;
  return expandPathAliases(endpoint.path).map((path) => ({
    methods: withHead(method),
    path,
    family,
    operation,
    isPublic: resolveOwner !== undefined,
    deprecated,
    async run(call, params) {
      addDeprecationHeaders(call, deprecated);
      if (resolveOwner) call.owner = await resolveOwner({ params, query: getRequestQuery(call.request) });
      else call.owner = await authorize(call, deps.authenticate);
      checkRegion(describeRequest(call.request), regions, call.address.region);
      await runEndpoint(endpoint, call, params, deps);
    },
  }));
}

/** Adds the headers of RFC 9745 and RFC 5829. */
function addDeprecationHeaders({ headers, request }: Call, deprecated: EndpointDeprecation | undefined): void {
  if (!deprecated) return;
  headers['deprecation'] = `@${deprecated.since}`;
  // Encode characters that would end the URL within the header.
  const successor = deprecated.successor(request.url ?? '').replaceAll(/[^!#-;=?-~]/g, encodeURIComponent);
  headers['link'] = `<${successor}>; rel="successor-version"`;
}

function createUnservedRoutes(
  { method, path, name, family, regions, disabledReason }: UnservedRoute,
  deps: RoutesDeps,
): HttpRoute[] {
  return expandPathAliases(path).map((aliasPath) => ({
    methods: withHead(method),
    path: aliasPath,
    family,
    operation: 'unserved',
    isPublic: false,
    async run(call) {
      call.owner = await authorize(call, deps.authenticate);
      checkRegion(name, regions, call.address.region);
      const reason = disabledReason === undefined ? ' by this version of Parley' : `: ${disabledReason}`;
      throw new ServiceError('unsupported', `${name} (${describeRequest(call.request)}) is not served${reason}.`);
    },
  }));
}

const createProbeRoute = ({ path, operation, handle }: Probe): HttpRoute => ({
  methods: withHead('GET'),
  path,
  family: resolveFamily(path),
  operation,
  isPublic: path === '/health',
  async run(call) {
    writeResponse(call, await handle(call.request));
  },
});

/** Base URLs that clients are configured with, some of which request them to test the connection. */
const BASE_URLS = [
  { path: '/', title: 'Parley' },
  { path: '/v1', title: 'the OpenAI-compatible interface' },
  { path: '/compatible-mode/v1', title: 'the OpenAI-compatible interface' },
  { path: '/apps/anthropic', title: 'the Anthropic-compatible interface' },
  { path: '/apps/anthropic/v1', title: 'the Anthropic-compatible interface' },
  { path: '/api/v1', title: 'the DashScope-compatible interface' },
] as const;

/** Answers a base URL without a key: the address is right, and where the documentation is. */
const createBaseUrlRoute = ({ path, title }: (typeof BASE_URLS)[number]): HttpRoute => ({
  methods: withHead('GET'),
  path,
  family: resolveFamily(path),
  operation: 'base-url',
  isPublic: true,
  run(call) {
    const message = `This is the base URL of ${title}. Requests need an API key; GET /v1/models lists the models.`;
    const guide = 'docs/guides/move-an-application.md';
    writeResponse(call, { status: 200, text: JSON.stringify({ service: 'parley', message, documentation: guide }) });
    return Promise.resolve();
  },
});

/** Adds HEAD to GET. node:http omits the body of a HEAD response. */
const withHead = (method: string): readonly string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method]);

/** Creates the routes that reject unsupported methods with 405. Only a CORS preflight (OPTIONS) is answered. */
function createMethodRefusalRoutes(routes: readonly HttpRoute[], { cors }: RoutesDeps): HttpRoute[] {
  const byPath = Map.groupBy(routes, ({ path }) => path);
  return [...byPath].map(([path, pathRoutes]) => {
    const allow = [...new Set(pathRoutes.flatMap(({ methods }) => methods))];
    const deprecated = pathRoutes.find((route) => route.deprecated)?.deprecated;
    return {
      // CONNECT has no path; it is rejected before routing.
      methods: ROUTED_METHODS.filter((method) => !allow.includes(method)),
      path,
      family: pathRoutes[0]?.family ?? resolveFamily(path),
      operation: 'refused-method',
      isPublic: true,
      run(call: Call) {
        addDeprecationHeaders(call, deprecated);
        if (isPreflight(call.request)) {
          if (isOriginAllowed(call.request, cors)) {
            writeResponse(call, { status: 204, text: '', headers: createPreflightHeaders(call.request, allow) });
            return Promise.resolve();
          }
          return Promise.reject(createOriginError(call.request));
        }
        const message = `Request method '${call.request.method}' is not supported.`;
        return Promise.reject(new ServiceError('method-not-allowed', message, { allow }));
      },
    };
  });
}
