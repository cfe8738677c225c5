import type { IncomingMessage } from 'node:http';
import { WebSocketServer } from 'ws';
import { ServiceError } from '../core/error.ts';
import { SOCKET_FRAME_BYTES_MAX } from './limits.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import type { StartInterval } from '../lib/start-interval.ts';
import type { SocketEndpoint } from '../protocols/socket-endpoint.ts';
import { createActiveList, type ActiveList } from './active-list.ts';
import { authorize, checkRegion, type Authenticate } from './authenticate.ts';
import type { BodyBudget } from './body-budget.ts';
import type { Call } from './call.ts';
import type { HttpLimits } from './http-limits.ts';
import { runSocket, type RunningSocket } from './run-socket.ts';
import { createRejectingHandler, type RouteHandler } from './router.ts';
import { describeRequest, getRequestPath } from './request-target.ts';

export interface SocketsDeps {
  readonly endpoints: readonly SocketEndpoint[];
  readonly authenticate: Authenticate;
  readonly limits: HttpLimits;
  readonly bodyBudget: BodyBudget;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly startInterval: StartInterval;
}

export interface SocketServer {
  /** The open websockets of this process. */
  readonly running: ActiveList<RunningSocket>;
  /** Tells whether a request is a websocket handshake for an existing endpoint. */
  isSocketRequest(request: IncomingMessage): boolean;
  /** Creates the handler of an upgrade request. */
  createHandler(request: IncomingMessage, head: Buffer): RouteHandler;
  /** Closes idle sessions now, the others when their current work is finished. */
  drain(): void;
}

/** Interval of the session ticks in ms; Parley's choice. */
const TICK_MS = 1_000;

export function createSocketServer(deps: SocketsDeps): SocketServer {
  const { endpoints, authenticate, limits, bodyBudget, clock, log, meter, startInterval } = deps;
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // Compression does not make audio smaller, and it costs memory per connection.
    perMessageDeflate: false,
    maxPayload: SOCKET_FRAME_BYTES_MAX,
    // One event in a turn of the event loop: a burst of thousands of frames does not delay other connections.
    allowSynchronousEvents: false,
  });
  const running = createActiveList<RunningSocket>();
  let stopTicks: (() => void) | undefined;
  let isDraining = false;

  const findEndpoint = (request: IncomingMessage): SocketEndpoint | undefined => {
    const path = getRequestPath(request).replace(/(?<=.)\/$/, '');
    return endpoints.find((endpoint) => endpoint.path === path);
  };

  const isSocketRequest = (request: IncomingMessage): boolean =>
    request.headers.upgrade?.toLowerCase() === 'websocket' && findEndpoint(request) !== undefined;

  const checkSocketLimits = (keyId: string): void => {
    if (running.count() >= limits.socketsMax)
      throw new ServiceError(
        'overloaded',
        `The server has reached its limit of ${limits.socketsMax} open websockets. Try again later.`,
      );
    const keySocketCount = running.list().filter((socket) => socket.keyId === keyId).length;
    if (keySocketCount >= Math.max(1, Math.floor(limits.socketsMax / 2)))
      throw new ServiceError(
        'rate-limited',
        `This key has reached its limit of ${keySocketCount} open websockets. Close one of them first.`,
      );
  };

  const register = (socket: RunningSocket): void => {
    running.add(socket);
    if (isDraining) socket.session.drain();
    const endTracking = meter.trackSocket();
    stopTicks ??= startInterval(TICK_MS, () => {
      for (const each of running.list()) each.session.onTick();
    });
    void socket.closed.then(() => {
      running.remove(socket);
      endTracking();
      if (running.count() > 0) return;
      stopTicks?.();
      stopTicks = undefined;
    });
  };

  const open = async (endpoint: SocketEndpoint, call: Call, head: Buffer): Promise<void> => {
    const { request } = call;
    const owner = await authorize(call, authenticate);
    call.owner = owner;
    checkRegion(describeRequest(request), endpoint.regions, call.address.region);
    checkHandshake(call);
    checkSocketLimits(owner.keyId);
    // The client may have disconnected meanwhile. The end of the response is logged as for any other call.
    if (request.socket.destroyed || !request.socket.readable || !request.socket.writable) return;
    const context = {
      requestId: call.requestId,
      owner,
      checkKey: async () => void (await authorize(call, authenticate)),
    };
    call.response.detachSocket(request.socket);
    server.once('headers', (lines: string[]) => {
      for (const [name, value] of Object.entries(call.headers)) lines.push(`${name}: ${value}`);
    });
    server.handleUpgrade(request, request.socket, head, (socket) => {
      register(
        runSocket(socket, {
          endpoint,
          context,
          connection: request.socket,
          limits,
          acquireMemory: (bytes, signal) => bodyBudget.acquire(owner, bytes, signal),
          clock,
          log,
          startInterval,
        }),
      );
    });
    server.removeAllListeners('headers');
    call.markUpgraded();
  };

  return {
    running,
    isSocketRequest,
    createHandler(request, head) {
      const endpoint = isSocketRequest(request) ? findEndpoint(request) : undefined;
      // Node before 24.9 ignores shouldUpgradeCallback, so other upgrade requests arrive here, already detached.
      if (!endpoint)
        return createRejectingHandler(
          new ServiceError('invalid-request', 'Upgrade: this path does not support the requested protocol.'),
        );
      return { operation: endpoint.operation, family: endpoint.family, run: (call) => open(endpoint, call, head) };
    },
    drain() {
      isDraining = true;
      for (const { session } of running.list()) session.drain();
    },
  };
}

/** Checks the handshake (RFC 6455, 4.2.1). @throws ServiceError `invalid-request`, `method-not-allowed`. */
function checkHandshake({ request: { method, headers }, headers: responseHeaders }: Call): void {
  if (method !== 'GET')
    throw new ServiceError('method-not-allowed', 'A websocket handshake must use the method GET.', { allow: ['GET'] });
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? ''))
    throw new ServiceError('invalid-request', 'Sec-WebSocket-Key must be 16 bytes in base64.');
  if (headers['sec-websocket-version'] !== '13') {
    responseHeaders['sec-websocket-version'] = '13';
    throw new ServiceError('invalid-request', 'Sec-WebSocket-Version must be 13.');
  }
  // Subprotocols are not supported: ws must not see the client's offer, which may be malformed.
  delete headers['sec-websocket-protocol'];
}
