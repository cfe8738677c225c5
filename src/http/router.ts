import type { IncomingMessage } from 'node:http';
import { METHODS } from 'node:http';
import { fastify } from 'fastify';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../core/error.ts';
import { PATH_PARAMETER_CHARS_MAX } from './limits.ts';
import { describeRequest } from './request-target.ts';
import type { HttpRoute, PathParams } from './routes.ts';

/** Handler of a request. It has no family if no route matched. */
export type RouteHandler = Pick<HttpRoute, 'operation' | 'run'> & Partial<Pick<HttpRoute, 'family'>>;

export type HandleRequest = (request: IncomingMessage, route: RouteHandler, params: PathParams) => void;

/** Creates the router. Fastify finds the route of a request, or rejects the request. */
export function createRouter(routes: readonly HttpRoute[], handle: HandleRequest): FastifyInstance {
  const refuse = (error: ServiceError, request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack();
    handle(request.raw, createRejectingHandler(error), {});
  };
  const app = fastify({
    exposeHeadRoutes: false, // `routes` contains the HEAD routes
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      maxParamLength: PATH_PARAMETER_CHARS_MAX,
      querystringParser: () => ({}), // endpoints get URLSearchParams
    },
    frameworkErrors: (error, request, reply) => refuse(mapFastifyError(error, request.raw), request, reply),
  });
  // Register every HTTP method, so that a path can reject those it does not support. All are registered without a body:
  // endpoints read bodies themselves, after the key was checked.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.setErrorHandler<FastifyError>((error, request, reply) =>
    refuse(mapFastifyError(error, request.raw), request, reply),
  );
  app.setNotFoundHandler((request, reply) => refuse(createNotFoundError(request.raw), request, reply));
  for (const route of routes) {
    app.route<{ Params: Record<string, string> }>({
      method: [...route.methods],
      url: route.path,
      handler(request, reply) {
        reply.hijack();
        handle(request.raw, route, request.params);
      },
    });
  }
  return app;
}

/** Creates a handler that rejects every request with `error`. */
export const createRejectingHandler = (error: ServiceError): RouteHandler => ({
  operation: 'unknown',
  run: () => Promise.reject(error),
});

/** The message starts with the prescribed text (docs/wire/openai-compatible.md#errors). */
const createNotFoundError = (request: IncomingMessage): ServiceError =>
  new ServiceError('not-found', `Not found! No route matches ${describeRequest(request)}.`);

/** Maps an error of the router, which only rejects paths, to a ServiceError. */
function mapFastifyError(error: FastifyError, request: IncomingMessage): ServiceError {
  if (error.code === 'FST_ERR_MAX_PARAM_LENGTH') return createNotFoundError(request);
  if (error.code === 'FST_ERR_BAD_URL')
    return new ServiceError('invalid-request', 'The path contains invalid percent-encoding.');
  if ((error.statusCode ?? 500) < 500) return new ServiceError('invalid-request', 'The request cannot be parsed.');
  return ServiceError.from(error);
}
