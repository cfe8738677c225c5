import { METHODS } from 'node:http';
import { ServiceError } from '../core/error.ts';
import type { Deprecation, Endpoint, Family } from '../protocols/endpoint.ts';
import { familyOf } from '../protocols/families.ts';
import { pathsOf, unservedRoutes } from '../protocols/interfaces.ts';
import type { UnservedRoute } from '../protocols/interfaces.ts';
import type { Authenticate } from './authenticate.ts';
import { authorize, checkRegion } from './authenticate.ts';
import { answer } from './answer.ts';
import type { AnswerNeeds } from './answer.ts';
import type { Call } from './call.ts';
import { write } from './reply.ts';
import type { Probe } from './probes.ts';
import { isPreflight, preflightHeaders } from './cors.ts';
import { queryOf } from './target.ts';

export type Params = Readonly<Record<string, string>>;

/** One path and the methods that are answered alike, whoever serves it. Throws a ServiceError for what it refuses. */
export interface HttpRoute {
  readonly methods: readonly string[];
  readonly path: string;
  readonly family: Family;
  readonly operation: string;
  /** Answers without a key. The list of those that do is `PUBLIC` in the test that walks all routes. */
  readonly isPublic: boolean;
  /** On its way out: its answers say so. */
  readonly deprecated?: Deprecation | undefined;
  readonly run: (call: Call, params: Params) => Promise<void>;
}

export interface RoutesNeeds extends AnswerNeeds {
  readonly endpoints: readonly Endpoint[];
  readonly probes: readonly Probe[];
  readonly authenticate: Authenticate;
  /** Whether pages of other origins may call at all. */
  readonly hasCors: boolean;
}

/**
 * Every route there is: endpoints and their bare twins, documented paths that are not served, probes, and for each path
 * the methods it does not have.
 */
export function createRoutes(needs: RoutesNeeds): readonly HttpRoute[] {
  const routes: readonly HttpRoute[] = [
    ...needs.endpoints.flatMap((endpoint) => endpointRoutes(endpoint, needs)),
    ...unservedRoutes(needs.endpoints).flatMap((route) => unservedRoute(route, needs)),
    ...needs.probes.map(probeRoute),
  ];
  return [...routes, ...refusedMethods(routes, needs)];
}

function endpointRoutes(endpoint: Endpoint, needs: RoutesNeeds): HttpRoute[] {
  const { method, family, operation, regions, deprecated, ownerOf } = endpoint;
  return pathsOf(endpoint.path).map((path) => ({
    methods: withHead(method),
    path,
    family,
    operation,
    isPublic: ownerOf !== undefined,
    deprecated,
    async run(call, params) {
      sayDeprecated(call, deprecated);
      if (ownerOf) call.owner = await ownerOf({ params, query: queryOf(call.request) });
      else await enter(call, needs);
      checkRegion(`${method} ${path}`, regions, call.address.region);
      await answer(endpoint, call, params, needs);
    },
  }));
}

/** RFC 9745 and RFC 5829. */
function sayDeprecated({ headers, request }: Call, deprecated: Deprecation | undefined): void {
  if (!deprecated) return;
  headers['deprecation'] = `@${deprecated.since}`;
  // A target may hold what would end the address in a header.
  const successor = deprecated.successor(request.url ?? '').replaceAll(/[^!#-;=?-~]/g, encodeURIComponent);
  headers['link'] = `<${successor}>; rel="successor-version"`;
}

function unservedRoute({ method, path, name, family, regions, off }: UnservedRoute, needs: RoutesNeeds): HttpRoute[] {
  return pathsOf(path).map((each) => ({
    methods: withHead(method),
    path: each,
    family,
    operation: 'unserved',
    isPublic: false,
    async run(call) {
      await enter(call, needs);
      checkRegion(name, regions, call.address.region);
      const why = off === undefined ? ' by this version' : `: ${off}`;
      throw new ServiceError('unsupported', `${name} (${method} ${each}) is not served${why}.`);
    },
  }));
}

const probeRoute = ({ path, operation, answer: probe }: Probe): HttpRoute => ({
  methods: withHead('GET'),
  path,
  family: familyOf(path),
  operation,
  isPublic: path === '/health',
  async run(call) {
    write(call, await probe(call.request));
  },
});

/** HEAD is GET without the body, which node:http leaves out by itself. */
const withHead = (method: string): readonly string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method]);

/** 405 for what a path does not have; a browser's preflight is the one OPTIONS that is answered. */
function refusedMethods(routes: readonly HttpRoute[], { hasCors }: RoutesNeeds): HttpRoute[] {
  const byPath = Map.groupBy(routes, ({ path }) => path);
  return [...byPath].map(([path, own]) => {
    const allow = [...new Set(own.flatMap(({ methods }) => methods))];
    const deprecated = own.find((route) => route.deprecated)?.deprecated;
    return {
      // CONNECT names no path: it is refused before any route is looked for.
      methods: METHODS.filter((method) => method !== 'CONNECT' && !allow.includes(method)),
      path,
      family: own[0]?.family ?? familyOf(path),
      operation: 'refused-method',
      isPublic: true,
      run(call: Call) {
        sayDeprecated(call, deprecated);
        if (hasCors && isPreflight(call.request)) {
          write(call, { status: 204, text: '', headers: preflightHeaders(call.request, allow) });
          return Promise.resolve();
        }
        const refusal = `Request method '${call.request.method}' is not supported.`;
        return Promise.reject(new ServiceError('method-not-allowed', refusal, { allow }));
      },
    };
  });
}

async function enter(call: Call, { authenticate }: RoutesNeeds): Promise<void> {
  const { request, family, address, log } = call;
  const note = (keyStatus: string): void => log.add({ keyStatus });
  call.owner = await authorize({ headers: request.headers, family, address }, { authenticate, note });
}
