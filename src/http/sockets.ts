import type { IncomingMessage } from 'node:http';
import { WebSocketServer } from 'ws';
import { ServiceError } from '../core/error.ts';
import { SOCKET_MESSAGE_BYTES_MAX } from '../core/limits.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import type { Every } from '../lib/every.ts';
import type { SocketEndpoint } from '../protocols/socket-endpoint.ts';
import { authorize, checkRegion } from './authenticate.ts';
import type { Authenticate } from './authenticate.ts';
import type { Call } from './call.ts';
import type { HttpLimits } from './limits.ts';
import { runSocket } from './run-socket.ts';
import type { RunningSocket } from './run-socket.ts';
import { refusing } from './router.ts';
import type { Served } from './router.ts';
import { pathOf } from './target.ts';

export interface SocketsNeeds {
  readonly endpoints: readonly SocketEndpoint[];
  readonly authenticate: Authenticate;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly every: Every;
}

/** The websockets of a process. */
export interface Sockets {
  /** Whether a request asks for one that we have. */
  isWanted(request: IncomingMessage): boolean;
  /** How such a request is answered. */
  served(request: IncomingMessage, head: Buffer): Served;
  size(): number;
  /** Those with nothing to do are closed, the others when what runs has ended. */
  drain(): void;
  /** What still runs is broken off. */
  end(reason: ServiceError): void;
  /** Those that are still there go without a word. */
  terminate(): void;
  /** Whether the last one was closed within `ms`. */
  empty(ms: number): Promise<boolean>;
}

/** Ours: ms between ticks of the sessions. */
const TICK_MS = 1_000;

export function createSockets(needs: SocketsNeeds): Sockets {
  const { endpoints, authenticate, limits, clock, log, meter, every } = needs;
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // Speech does not get smaller by it, and each connection would cost memory for it.
    perMessageDeflate: false,
    maxPayload: SOCKET_MESSAGE_BYTES_MAX,
  });
  const running = new Set<RunningSocket>();
  let endTicks: (() => void) | undefined;
  let onEmpty: (() => void) | undefined;
  let isDraining = false;

  const endpointOf = (request: IncomingMessage): SocketEndpoint | undefined => {
    const path = pathOf(request).replace(/(?<=.)\/$/, '');
    return endpoints.find((endpoint) => endpoint.path === path);
  };

  const isWanted = (request: IncomingMessage): boolean =>
    request.headers.upgrade?.toLowerCase() === 'websocket' && endpointOf(request) !== undefined;

  const checkRoom = (keyId: string): void => {
    if (running.size >= limits.socketsMax)
      throw new ServiceError('overloaded', `${limits.socketsMax} websockets are open, as many as there may be.`);
    const own = [...running].filter((socket) => socket.keyId === keyId).length;
    if (own >= Math.max(1, Math.floor(limits.socketsMax / 2)))
      throw new ServiceError('rate-limited', `${own} websockets of this key are open, as many as it may have.`);
  };

  const keep = (socket: RunningSocket): void => {
    running.add(socket);
    if (isDraining) socket.session.drain();
    const closed = meter.socketOpened();
    endTicks ??= every(TICK_MS, () => {
      for (const one of running) one.session.tick();
    });
    void socket.closed.then(() => {
      running.delete(socket);
      closed();
      if (running.size > 0) return;
      endTicks?.();
      endTicks = undefined;
      onEmpty?.();
    });
  };

  const open = async (endpoint: SocketEndpoint, call: Call, head: Buffer): Promise<void> => {
    const { request, family, address } = call;
    const note = (keyStatus: string): void => call.log.add({ keyStatus });
    const whose = () => authorize({ headers: request.headers, family, address }, { authenticate, note });
    const owner = await whose();
    call.owner = owner;
    checkRegion(endpoint.path, endpoint.regions, address.region);
    checkHandshake(call);
    checkRoom(owner.keyId);
    // Whoever left meanwhile is not answered; the end of the response is written down as for any other.
    if (request.socket.destroyed || !request.socket.readable || !request.socket.writable) return;
    const context = { requestId: call.requestId, owner, checkKey: async () => void (await whose()) };
    call.response.detachSocket(request.socket);
    server.once('headers', (lines: string[]) => {
      for (const [name, value] of Object.entries(call.headers)) lines.push(`${name}: ${value}`);
    });
    server.handleUpgrade(request, request.socket, head, (socket) => {
      keep(runSocket(socket, { endpoint, context, connection: request.socket, limits, clock, log, every }));
    });
    server.removeAllListeners('headers');
    call.switched();
  };

  return {
    isWanted,
    served(request, head) {
      const endpoint = isWanted(request) ? endpointOf(request) : undefined;
      // Node before 24.9 does not ask what is wanted, and has let go of the request.
      if (!endpoint) return refusing(new ServiceError('invalid-request', 'Upgrade: the protocol is not spoken here.'));
      return { operation: endpoint.operation, family: endpoint.family, run: (call) => open(endpoint, call, head) };
    },
    size: () => running.size,
    drain() {
      isDraining = true;
      for (const { session } of running) session.drain();
    },
    end(reason) {
      for (const { session } of running) session.end(reason);
    },
    terminate() {
      for (const { terminate } of running) terminate();
    },
    empty(ms) {
      if (running.size === 0) return Promise.resolve(true);
      return new Promise((resolve) => {
        const timer = setTimeout(() => resolve(false), ms);
        onEmpty = () => {
          clearTimeout(timer);
          resolve(true);
        };
      });
    },
  };
}

/** RFC 6455, 4.2.1. @throws ServiceError `invalid-request`, `method-not-allowed`. */
function checkHandshake({ request: { method, headers }, headers: answered }: Call): void {
  if (method !== 'GET')
    throw new ServiceError('method-not-allowed', 'A websocket is asked for with GET.', { allow: ['GET'] });
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? ''))
    throw new ServiceError('invalid-request', 'Sec-WebSocket-Key must be 16 bytes in base64.');
  if (headers['sec-websocket-version'] !== '13') {
    answered['sec-websocket-version'] = '13';
    throw new ServiceError('invalid-request', 'Sec-WebSocket-Version must be 13.');
  }
  // No subprotocol is spoken here: what is offered is passed over, however it is written.
  delete headers['sec-websocket-protocol'];
}
