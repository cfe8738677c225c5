import type { Server } from 'node:http';
import { IncomingMessage, ServerResponse, createServer } from 'node:http';
import type { Socket } from 'node:net';
import { ServiceError } from '../core/error.ts';
import type { Ids } from '../core/id.ts';
import { CONNECTION_IDLE_MS_MAX } from '../core/limits.ts';
import type { RegionId } from '../core/region.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import { assert } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import { every as timer } from '../lib/every.ts';
import type { Every } from '../lib/every.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import type { SocketEndpoint } from '../protocols/socket-endpoint.ts';
import { createAddressBook } from './address.ts';
import type { HostRule, Listener } from './address.ts';
import type { Authenticate } from './authenticate.ts';
import { createCall } from './call.ts';
import type { Call } from './call.ts';
import { answerBrokenRequests } from './broken-request.ts';
import { corsHeaders } from './cors.ts';
import type { CorsOptions } from './cors.ts';
import { createInFlight } from './in-flight.ts';
import { HTTP_LIMITS } from './limits.ts';
import type { HttpLimits } from './limits.ts';
import { createProbes } from './probes.ts';
import type { Probes } from './probes.ts';
import { writeError } from './reply.ts';
import { createRouter, refusing } from './router.ts';
import type { Served } from './router.ts';
import { createRoutes } from './routes.ts';
import type { HttpRoute, Params } from './routes.ts';
import { createSockets } from './sockets.ts';
import { hostOf } from './target.ts';

export interface HttpNeeds {
  readonly endpoints: readonly Endpoint[];
  /** What is spoken after an upgrade; default: nothing. */
  readonly sockets?: readonly SocketEndpoint[];
  readonly listeners: readonly Listener[];
  readonly hosts?: readonly HostRule[];
  readonly authenticate: Authenticate;
  readonly probes: Probes;
  /** Opens /ready and /metrics from elsewhere than the loopback. */
  readonly operatorToken?: string;
  readonly cors?: CorsOptions;
  readonly limits?: Partial<HttpLimits>;
  readonly log: Log;
  readonly meter: Meter;
  readonly ids: Ids;
  readonly clock: Clock;
  /** Of websockets; default: the runtime's own timer. */
  readonly every?: Every;
}

export interface Bound {
  readonly host: string;
  readonly port: number;
  readonly region: RegionId;
}

export interface Http {
  /** Every route that answers, for tests and lists. */
  readonly routes: readonly HttpRoute[];
  /** @throws Error of the socket, e.g. EADDRINUSE; then none is left listening. */
  listen(): Promise<readonly Bound[]>;
  /** Requests that are being answered now. */
  inFlight(): number;
  /** Websockets that are open now. */
  sockets(): number;
  /**
   * Takes no new connections and no new requests; what runs may end within `graceMs`, the rest is broken off in its
   * protocol's way. Resolves when every connection is closed.
   */
  close(options: { readonly graceMs: number }): Promise<void>;
}

/** All regions and protocols behind any number of listeners. Fastify finds the route; sockets, bodies and bytes are ours. */
export async function createHttp(needs: HttpNeeds): Promise<Http> {
  const { listeners, hosts = [], log, meter, ids, clock, cors = { origins: [] } } = needs;
  const limits: HttpLimits = { ...HTTP_LIMITS, ...needs.limits };
  const routes = createRoutes({
    endpoints: needs.endpoints,
    probes: createProbes({ probes: needs.probes, meter, operatorToken: needs.operatorToken }),
    authenticate: needs.authenticate,
    hasCors: cors.origins.length > 0,
    limits,
    meter,
  });

  const addressOf = createAddressBook(hosts);
  const inFlight = createInFlight();
  const { authenticate, sockets: socketEndpoints = [], every = timer } = needs;
  const sockets = createSockets({ endpoints: socketEndpoints, authenticate, limits, clock, log, meter, every });
  const servers: { readonly server: Server; readonly listener: Listener }[] = [];
  let isDraining = false;

  const run = async (call: Call, { operation, family, run: answer }: Served, params: Params): Promise<void> => {
    call.operation = operation;
    if (family) call.setFamily(family);
    try {
      if (isDraining) {
        call.headers['connection'] = 'close';
        throw new ServiceError('overloaded', 'The service is shutting down.');
      }
      await answer(call, params);
    } catch (thrown) {
      writeError(call, ServiceError.from(thrown));
    } finally {
      call.settle();
    }
  };

  const app = createRouter(routes, (request, route, params) => void run(callOf(request), route, params));
  await app.ready();

  for (const listener of listeners) {
    const server = createServer({
      IncomingMessage: CalledMessage,
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersReceiveMs,
      requestTimeout: 0, // ours is `patience`: an upload may take longer than another body
      connectionsCheckingInterval: Math.min(limits.headersReceiveMs, 5_000),
      keepAliveTimeout: CONNECTION_IDLE_MS_MAX,
      // Whatever else asks for another protocol is answered in this one: some clients offer HTTP/2 with every request.
      shouldUpgradeCallback: (request) => sockets.isWanted(request),
      requireHostHeader: false, // else an empty 400 that no client can read
    });
    const accept = (request: IncomingMessage, response: ServerResponse, awaitsLeave = false): Call => {
      const onEnd = (call: Call): void => {
        inFlight.remove(call);
        if (isDraining) setImmediate(() => server.closeIdleConnections());
      };
      const address = addressOf(listener, hostOf(request));
      // As the server's own time-out tells it.
      const slow = Object.assign(new Error('a slow sender'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      const onSlow = (): void => void server.emit('clientError', slow, request.socket);
      const call = createCall(request, response, { address, ids, clock, log, meter, awaitsLeave, onSlow, onEnd });
      call.patience.wait(limits.requestReceiveMs);
      Object.assign(call.headers, corsHeaders(request, cors));
      if (request instanceof CalledMessage) request.call = call;
      inFlight.add(call);
      dropStalledReader(response, limits.readerStallMs);
      return call;
    };
    server.on('request', (request, response) => {
      accept(request, response);
      app.routing(request, response);
    });
    // Without it, leave to send would be given before anybody knows whether the body is wanted.
    server.on('checkContinue', (request, response) => {
      accept(request, response, true);
      app.routing(request, response);
    });
    server.on('checkExpectation', (request, response) => {
      const refusal = new ServiceError('invalid-request', 'Expect: only 100-continue is understood.');
      void run(accept(request, response), refusing(refusal), {});
    });
    server.on('upgrade', (request, socket: Socket, head) => {
      const response = refusable(request, socket, limits.readerStallMs);
      const call = accept(request, response);
      void run(call, sockets.served(request, head), {});
    });
    answerBrokenRequests(server, { ids, log, lingerMs: limits.readerStallMs });
    servers.push({ server, listener });
  }

  return {
    routes,
    inFlight: () => inFlight.size(),
    sockets: () => sockets.size(),
    async listen() {
      const bound = await Promise.allSettled(servers.map(({ server, listener }) => bind(server, listener)));
      const failed = bound.find((each) => each.status === 'rejected');
      if (!failed) return bound.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      for (const { server } of servers) server.close();
      throw failed.reason;
    },
    async close({ graceMs }) {
      isDraining = true;
      const closed = servers.map(({ server }) => closing(server));
      const reason = new ServiceError('overloaded', 'The service is shutting down.');
      sockets.drain();
      const [isAnswered, isHeard] = await Promise.all([inFlight.empty(graceMs), sockets.empty(graceMs)]);
      if (!isAnswered) inFlight.abort(reason);
      if (!isHeard) sockets.end(reason);
      await Promise.all([inFlight.empty(limits.abortGraceMs), sockets.empty(limits.abortGraceMs)]);
      // What was upgraded is no connection of a server any more.
      sockets.terminate();
      await sockets.empty(limits.abortGraceMs);
      for (const { server } of servers) server.closeAllConnections();
      await Promise.all(closed);
      await app.close();
    },
  };
}

/**
 * A request that knows its call, for the way through the router. A WeakMap from one to the other would keep both until the
 * next full collection: its table is old, and what it holds grows old with it.
 */
class CalledMessage extends IncomingMessage {
  call: Call | undefined;
}

function callOf(request: IncomingMessage): Call {
  assert(request instanceof CalledMessage && request.call, 'every request has its call');
  return request.call;
}

/** A response for a request that asked for another protocol, and may not have it: the connection ends with it. */
function refusable(request: IncomingMessage, socket: Socket, stallMs: number): ServerResponse {
  // The server has let go of it: what would have ended it otherwise has to be done here.
  socket.on('error', () => socket.destroy());
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  const timer = setTimeout(() => response.socket?.destroy(), stallMs).unref();
  response.once('finish', () => socket.end());
  socket.once('close', () => clearTimeout(timer));
  return response;
}

/**
 * Ends the connection when bytes have waited `ms` for a peer that took none of them, also after the answer is complete. One
 * that has nothing to take yet, because its answer is being made, may wait.
 */
function dropStalledReader(response: ServerResponse, ms: number): void {
  response.setTimeout(ms, () => {
    if (response.writableLength > 0) response.destroy();
  });
}

function bind(server: Server, { host, port, region, isShared = false }: Listener): Promise<Bound> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, reusePort: isShared }, () => {
      server.off('error', reject);
      const address = server.address();
      resolve({ host, port: typeof address === 'object' && address ? address.port : port, region });
    });
  });
}

/** Stops listening; resolves when the last connection is gone, at once where there never was a listener. */
const closing = (server: Server): Promise<void> => new Promise((resolve) => void server.close(() => resolve()));
