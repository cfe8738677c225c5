import { ServerResponse, createServer, type Server, type IncomingMessage } from 'node:http';
import { createServer as createSecureServer, Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { ServiceError, SHUTTING_DOWN_MESSAGE } from '../core/error.ts';
import type { IdGenerator } from '../core/id.ts';
import { CONNECTION_IDLE_MS_MAX } from './limits.ts';
import type { RegionId } from '../core/region.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import { startInterval as defaultStartInterval, type StartInterval } from '../lib/start-interval.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import type { SocketEndpoint } from '../protocols/socket-endpoint.ts';
import { createAddressResolver, type HostRule, type Listener } from './request-address.ts';
import { findSecret, type Authenticate } from './authenticate.ts';
import type { AcquireParseSlot } from './run-endpoint.ts';
import { createBodyBudget } from './body-budget.ts';
import { createCall, type Call } from './call.ts';
import { answerBrokenRequests } from './answer-broken-requests.ts';
import { createCorsHeaders, type CorsOptions } from './cors.ts';
import { createActiveList, type ActiveList } from './active-list.ts';
import { HTTP_LIMITS, type HttpLimits } from './http-limits.ts';
import { createAddressLimits } from './address-limits.ts';
import { createOperatorAccess, type OperatorAccessOptions } from './operator-access.ts';
import { createPipeline } from './pipeline.ts';
import { createProbes, type ReadinessProbe } from './probes.ts';
import { writeError } from './write-response.ts';
import { rejectRepeatedHeaders } from './repeated-headers.ts';
import { createRevocationCheck, KEY_CHECK_MS, type IsKeyActive } from './revoked-keys.ts';
import { createRouter, createRejectingHandler, type RouteHandler } from './router.ts';
import { createRoutes, type HttpRoute, type PathParams } from './routes.ts';
import { createSocketServer } from './socket-server.ts';
import { getRequestHost } from './request-target.ts';

export interface HttpDeps {
  readonly endpoints: readonly Endpoint[];
  /** Websocket endpoints. Default: none. */
  readonly sockets?: readonly SocketEndpoint[];
  readonly listeners: readonly Listener[];
  readonly hosts?: readonly HostRule[];
  readonly authenticate: Authenticate;
  /** Returns whether a secret was valid at its last check, without a new one. Default: no secret was. */
  readonly wasValid?: (secret: string) => boolean;
  /** Ends running work whose key was revoked. Default: keys stay active. */
  readonly isKeyActive?: IsKeyActive;
  /** Makes all listeners speak HTTPS instead of HTTP. */
  readonly tls?: TlsCredentials | undefined;
  readonly probes: ReadinessProbe;
  /** Access to /ready and /metrics. Default: requests of this machine only. */
  readonly operator?: OperatorAccessOptions;
  readonly cors?: CorsOptions;
  /** Limits how much time large bodies take from other requests. Default: they are parsed at once. */
  readonly acquireParseSlot?: AcquireParseSlot;
  readonly limits?: Partial<HttpLimits>;
  readonly log: Log;
  readonly meter: Meter;
  readonly ids: IdGenerator;
  readonly clock: Clock;
  /** Timer for the checks of keys, and the ticks and pongs of websockets. Default: `setInterval`. */
  readonly startInterval?: StartInterval;
}

/** A certificate chain and its key, in PEM format. */
export interface TlsCredentials {
  readonly cert: string;
  readonly key: string;
}

export interface BoundAddress {
  readonly boundHost: string;
  readonly port: number;
  readonly region: RegionId;
}

export interface HttpServer {
  /** All routes, for tests and listings. */
  readonly routes: readonly HttpRoute[];
  /** @throws Error of the socket, e.g. EADDRINUSE; then all listeners are closed again. */
  listen(): Promise<readonly BoundAddress[]>;
  /** Replaces the certificate for new connections. Only with `tls`. @throws Error if it cannot be used. */
  setTlsCredentials(credentials: TlsCredentials): void;
  /** Returns the number of requests in progress. */
  countInFlight(): number;
  /** Returns the number of open websockets. */
  countSockets(): number;
  /**
   * Rejects new connections and requests. Work in progress may finish within `graceMs`; the rest is aborted as its
   * protocol prescribes. Resolves when every connection is closed.
   */
  close(options: { readonly graceMs: number }): Promise<void>;
  /**
   * Rejects new requests, and ends the work in progress with the error of its protocol. Resolves when all of it has ended, or
   * after a time limit.
   */
  abort(): Promise<void>;
}

/**
 * Creates the HTTP server of all regions and protocols. The router only finds paths.
 */
export function createHttpServer(deps: HttpDeps): HttpServer {
  const { listeners, hosts = [], log, meter, ids, clock, cors = { origins: [] } } = deps;
  const limits: HttpLimits = { ...HTTP_LIMITS, ...deps.limits };
  const bodyBudget = createBodyBudget(limits);
  const routes = createRoutes({
    endpoints: deps.endpoints,
    probes: createProbes({ probes: deps.probes, meter, authorizeOperator: createOperatorAccess(deps.operator ?? {}) }),
    authenticate: deps.authenticate,
    cors,
    limits,
    meter,
    bodyBudget,
    acquireParseSlot: deps.acquireParseSlot,
  });

  const resolveAddress = createAddressResolver(hosts);
  const pipeline = createPipeline();
  const addressLimits = createAddressLimits({
    limits,
    trustedProxies: deps.operator?.trustedProxies ?? [],
    ids,
    clock,
    log,
  });
  const inFlight = createActiveList<Call>();
  const { authenticate, sockets: socketEndpoints = [], startInterval = defaultStartInterval } = deps;
  const sockets = createSocketServer({
    endpoints: socketEndpoints,
    authenticate,
    limits,
    bodyBudget,
    clock,
    log,
    meter,
    startInterval,
  });
  const servers: { readonly server: Server; readonly listener: Listener }[] = [];
  let isDraining = false;
  let stopKeyChecks: (() => void) | undefined;
  const { isKeyActive } = deps;
  const checkKeys = isKeyActive && createRevocationCheck({ calls: inFlight, sockets: sockets.running }, isKeyActive);

  const { wasValid = () => false } = deps;
  const hasKnownKey = ({ request, family }: Call): boolean => {
    const secret = findSecret(request.headers, family);
    return secret !== undefined && wasValid(secret);
  };
  /** A key that is valid, but not known yet, is only late. */
  const delayRefusal = (signal: AbortSignal): Promise<void> =>
    delay(limits.refusalDelayMs, undefined, { signal }).catch(() => undefined);

  const runHandler = async (
    call: Call,
    { operation, family, isPublic, run: handle }: RouteHandler,
    params: PathParams,
  ): Promise<void> => {
    call.operation = operation;
    if (family) call.setFamily(family);
    try {
      const canBeRefused = !isPublic && !isProbeWithoutToken(call);
      if (canBeRefused && addressLimits.isAboveRefusalRate(call.request.socket) && !hasKnownKey(call))
        await delayRefusal(call.signal);
      if (isDraining) throw new ServiceError('overloaded', SHUTTING_DOWN_MESSAGE);
      rejectRepeatedHeaders(call.request);
      await handle(call, params);
    } catch (thrown) {
      writeError(call, ServiceError.from(thrown));
    } finally {
      call.markHandled();
    }
  };

  const findRoute = createRouter(routes);
  const route = (call: Call): void => {
    const { handler, params } = findRoute(call.request);
    void runHandler(call, handler, params);
  };

  for (const listener of listeners) {
    const options = {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersReceiveMs,
      requestTimeout: 0, // `receiveTimeout` replaces it: an upload may take longer than other bodies
      connectionsCheckingInterval: Math.min(limits.headersReceiveMs, 5_000),
      keepAliveTimeout: CONNECTION_IDLE_MS_MAX,
      IncomingMessage: pipeline.IncomingMessage,
      // Other upgrade requests are answered as plain HTTP/1.1: some clients offer HTTP/2 with every request.
      shouldUpgradeCallback: (request: IncomingMessage) =>
        pipeline.isExcessive(request) || sockets.isSocketRequest(request),
      requireHostHeader: false, // node:http would answer with an empty 400
      noDelay: true, // the default of HTTP, but not of HTTPS
    };
    const server = deps.tls
      ? createSecureServer({ ...options, ...deps.tls, handshakeTimeout: limits.headersReceiveMs })
      : createServer(options);
    const accept = (request: IncomingMessage, response: ServerResponse, expectsContinue = false): Call => {
      const onFinished = (call: Call): void => {
        inFlight.remove(call);
        if (isRefusal(call) && !hasKnownKey(call)) addressLimits.countRefusals(call.request.socket);
        if (isDraining) setImmediate(() => server.closeIdleConnections());
      };
      const address = resolveAddress(listener, getRequestHost(request));
      // Same code as the timeout error of node:http.
      const timeoutError = Object.assign(new Error('the client takes too long to send its request'), {
        code: 'ERR_HTTP_REQUEST_TIMEOUT',
      });
      const onReceiveTimeout = (): void => void server.emit('clientError', timeoutError, request.socket);
      const call = createCall(request, response, {
        address,
        ids,
        clock,
        log,
        meter,
        expectsContinue,
        onReceiveTimeout,
        onFinished,
      });
      call.receiveTimeout.start(limits.requestReceiveMs);
      Object.assign(call.headers, createCorsHeaders(request, cors));
      if (isDraining) announceClose(call);
      inFlight.add(call);
      dropStalledReader(response, limits.readerStallMs);
      return call;
    };
    addressLimits.watch(server);
    pipeline.watch(server);
    server.on('request', (request, response) =>
      pipeline.run(request, response, () => route(accept(request, response))),
    );
    // Without this listener node:http sends `100 Continue` before the request is authorized.
    server.on('checkContinue', (request, response) =>
      pipeline.run(request, response, () => route(accept(request, response, true))),
    );
    server.on('checkExpectation', (request, response) => {
      const error = new ServiceError('invalid-request', 'The Expect header must be 100-continue.');
      const handler = createRejectingHandler(error);
      pipeline.run(request, response, () => void runHandler(accept(request, response), handler, {}));
    });
    server.on('upgrade', (request, socket: Socket, head) => {
      if (pipeline.isExcessive(request)) return pipeline.pause(server, request, head);
      const response = createRefusalResponse(request, socket, limits.readerStallMs);
      const call = accept(request, response);
      void runHandler(call, sockets.createHandler(request, head), {});
    });
    answerBrokenRequests(server, { ids, log, lingerMs: limits.readerStallMs, addressLimits });
    servers.push({ server, listener });
  }

  return {
    routes,
    setTlsCredentials({ cert, key }) {
      for (const { server } of servers) if (server instanceof SecureServer) server.setSecureContext({ cert, key });
    },
    countInFlight: () => inFlight.count(),
    countSockets: () => sockets.running.count(),
    async listen() {
      const results = await Promise.allSettled(servers.map(({ server, listener }) => startListening(server, listener)));
      const failure = results.find((each) => each.status === 'rejected');
      if (!failure && checkKeys) stopKeyChecks = startInterval(KEY_CHECK_MS, () => void checkKeys());
      if (!failure) return results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      for (const { server } of servers) server.close();
      throw failure.reason;
    },
    async abort() {
      isDraining = true;
      const reason = new ServiceError('overloaded', SHUTTING_DOWN_MESSAGE);
      for (const call of inFlight.list()) call.abort(reason);
      for (const { session } of sockets.running.list()) session.abort(reason);
      await Promise.all([inFlight, sockets.running].map((active) => active.waitUntilEmpty(limits.abortGraceMs)));
    },
    async close({ graceMs }) {
      isDraining = true;
      inFlight.list().forEach(announceClose);
      const closed = servers.map(({ server }) => closeServer(server));
      const reason = new ServiceError('overloaded', SHUTTING_DOWN_MESSAGE);
      sockets.drain();
      const finish = async <Item>(active: ActiveList<Item>, abort: (item: Item) => void): Promise<void> => {
        if (await active.waitUntilEmpty(graceMs)) return;
        active.list().forEach(abort);
        await active.waitUntilEmpty(limits.abortGraceMs);
      };
      const finishCalls = async (): Promise<void> => {
        await finish(inFlight, (call) => call.abort(reason));
        if (inFlight.count() > 0) return;
        // Requests that waited for an earlier response on their connection start now, and are refused.
        do await nextTurn();
        while (pipeline.countDue() > 0);
        await inFlight.waitUntilEmpty(limits.abortGraceMs);
      };
      await Promise.all([finishCalls(), finish(sockets.running, ({ session }) => session.abort(reason))]);
      // The HTTP servers no longer track upgraded connections.
      for (const { terminate } of sockets.running.list()) terminate();
      await sockets.running.waitUntilEmpty(limits.abortGraceMs);
      for (const { server } of servers) server.closeAllConnections();
      pipeline.destroyPaused();
      stopKeyChecks?.();
      await Promise.all(closed);
    },
  };
}

/** Tells the client that the connection closes after the response, unless its head was sent. */
const announceClose = ({ headers }: Call): void => {
  headers['connection'] = 'close';
};

/** Whether a request of an operator's probe tries no token: it must not wait because of others behind its address. */
const isProbeWithoutToken = ({ operation, request }: Call): boolean =>
  operation.startsWith('probe.') && request.headers.authorization === undefined;

/** Returns whether a request was refused before its key was found valid. */
const isRefusal = ({ owner, error }: Call): boolean =>
  owner === undefined && error !== undefined && error.kind !== 'cancelled' && error.kind !== 'overloaded';

/** Creates the response that rejects an upgrade request and then closes the connection. */
function createRefusalResponse(request: IncomingMessage, socket: Socket, stallMs: number): ServerResponse {
  // The HTTP server has detached the socket and no longer closes it on errors.
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
 * Closes the connection when the client has accepted no byte for `ms` although some are waiting, also after the
 * response is complete. A response without waiting bytes, because it is still being produced, is not affected.
 */
function dropStalledReader(response: ServerResponse, ms: number): void {
  response.setTimeout(ms, () => {
    if (response.writableLength > 0) response.destroy();
  });
}

function startListening(server: Server, { host, port, region, isShared = false }: Listener): Promise<BoundAddress> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, reusePort: isShared }, () => {
      server.off('error', reject);
      const address = server.address();
      resolve({ boundHost: host, port: typeof address === 'object' && address ? address.port : port, region });
    });
  });
}

/** Stops listening. Resolves when the last connection is closed; at once if the server never listened. */
const closeServer = (server: Server): Promise<void> => new Promise((resolve) => void server.close(() => resolve()));
