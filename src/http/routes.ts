import { ServiceError } from '../core/error.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
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

export type Params = Readonly<Record<string, string>>;

/** Methods a path is answered for, if only with 405. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'] as const;

/** One method and path, whoever serves it. Throws a ServiceError for what it refuses. */
export interface HttpRoute {
  readonly method: (typeof METHODS)[number];
  readonly path: string;
  readonly operation: string;
  /** Answers without a key. The list of those that do is `PUBLIC` in the test that walks all routes. */
  readonly isPublic: boolean;
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
  const routes = [
    ...needs.endpoints.flatMap((endpoint) => endpointRoutes(endpoint, needs)),
    ...unservedRoutes(needs.endpoints).flatMap((route) => unservedRoute(route, needs)),
    ...needs.probes.map(probeRoute),
  ].flatMap(withHead);
  return [...routes, ...refusedMethods(routes, needs)];
}

function endpointRoutes(endpoint: Endpoint, needs: RoutesNeeds): HttpRoute[] {
  const { method, operation, regions } = endpoint;
  return pathsOf(endpoint.path).map((path) => ({
    method,
    path,
    operation,
    isPublic: false,
    async run(call, params) {
      await enter(call, needs);
      checkRegion(`${method} ${path}`, regions, call.address.region);
      await answer(endpoint, call, params, needs);
    },
  }));
}

function unservedRoute({ method, path, name, regions }: UnservedRoute, needs: RoutesNeeds): HttpRoute[] {
  return pathsOf(path).map((each) => ({
    method,
    path: each,
    operation: 'unserved',
    isPublic: false,
    async run(call) {
      await enter(call, needs);
      checkRegion(name, regions, call.address.region);
      throw new ServiceError('unsupported', `${name} (${method} ${each}) is not served by this version.`);
    },
  }));
}

const probeRoute = ({ path, operation, answer: probe }: Probe): HttpRoute => ({
  method: 'GET',
  path,
  operation,
  isPublic: path === '/health',
  async run(call) {
    write(call, await probe(call.request));
  },
});

/** HEAD is GET without the body, which node:http leaves out by itself. */
const withHead = (route: HttpRoute): HttpRoute[] =>
  route.method === 'GET' ? [route, { ...route, method: 'HEAD' }] : [route];

/** 405 for what a path does not have; a browser's preflight is the one OPTIONS that is answered. */
function refusedMethods(routes: readonly HttpRoute[], { hasCors }: RoutesNeeds): HttpRoute[] {
  const byPath = Map.groupBy(routes, ({ path }) => path);
  return [...byPath].flatMap(([path, own]) => {
    const has = new Set(own.map(({ method }) => method));
    const allow = [...has];
    return METHODS.filter((method) => !has.has(method)).map((method) => ({
      method,
      path,
      operation: 'refused-method',
      isPublic: true,
      run(call: Call) {
        if (hasCors && isPreflight(call.request)) {
          write(call, { status: 204, text: '', headers: preflightHeaders(call.request, allow) });
          return Promise.resolve();
        }
        return Promise.reject(
          new ServiceError('method-not-allowed', `Request method '${method}' is not supported.`, { allow }),
        );
      },
    }));
  });
}

async function enter(call: Call, { authenticate }: RoutesNeeds): Promise<void> {
  const { request, family, address, log } = call;
  const note = (keyStatus: string): void => log.add({ keyStatus });
  call.owner = await authorize({ headers: request.headers, family, address }, { authenticate, note });
}
