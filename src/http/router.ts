import type { IncomingMessage } from 'node:http';
import { METHODS } from 'node:http';
import { fastify } from 'fastify';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../core/error.ts';
import { PATH_PARAMETER_CHARACTERS_MAX } from '../core/limits.ts';
import type { HttpRoute, Params } from './routes.ts';

/** What is run for a request; without a family where no route is known. */
export type Served = Pick<HttpRoute, 'operation' | 'run'> & Partial<Pick<HttpRoute, 'family'>>;

export type Serve = (request: IncomingMessage, served: Served, params: Params) => void;

/** Fastify as a router: it finds the route, or says why there is none. */
export function createRouter(routes: readonly HttpRoute[], serve: Serve): FastifyInstance {
  const refuse = (error: ServiceError, request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack();
    serve(request.raw, refusing(error), {});
  };
  const app = fastify({
    exposeHeadRoutes: false, // ours are in `routes`
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      maxParamLength: PATH_PARAMETER_CHARACTERS_MAX,
      querystringParser: () => ({}), // an endpoint gets URLSearchParams
    },
    frameworkErrors: (error, request, reply) => refuse(translate(error), request, reply),
  });
  // All methods there are, so that a path refuses those it does not have; and all without a body as far as the router is
  // concerned: bodies are read by whoever may have them, after the key was checked.
  for (const method of METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.setErrorHandler<FastifyError>((error, request, reply) => refuse(translate(error), request, reply));
  app.setNotFoundHandler((request, reply) => refuse(notFound(), request, reply));
  for (const route of routes) {
    app.route<{ Params: Record<string, string> }>({
      method: [...route.methods],
      url: route.path,
      handler(request, reply) {
        reply.hijack();
        serve(request.raw, route, request.params);
      },
    });
  }
  return app;
}

/** What is said where there is no route to ask. */
export const refusing = (error: ServiceError): Served => ({ operation: 'unknown', run: () => Promise.reject(error) });

const notFound = (): ServiceError => new ServiceError('not-found', 'Not found!');

/** What the router refuses is the caller's doing: a path that cannot be read. */
function translate(error: FastifyError): ServiceError {
  if (error.code === 'FST_ERR_MAX_PARAM_LENGTH') return notFound();
  if (error.code === 'FST_ERR_BAD_URL')
    return new ServiceError('invalid-request', 'The path has bad percent-encoding.');
  if ((error.statusCode ?? 500) < 500) return new ServiceError('invalid-request', 'The request cannot be read.');
  return ServiceError.from(error);
}
