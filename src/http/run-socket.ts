import type { Socket } from 'node:net';
import type { RawData, WebSocket } from 'ws';
import { SOCKET_PONG_MS } from './limits.ts';
import { reserveMessages } from './reserve-messages.ts';
import type { ReserveMessagesOptions } from './reserve-messages.ts';
import type { Log } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import type { StartInterval } from '../lib/start-interval.ts';
import type { SocketContext, SocketEndpoint, SocketPeer, SocketSession } from '../protocols/socket-endpoint.ts';
import type { HttpLimits } from './http-limits.ts';

export interface RunSocketDeps {
  readonly endpoint: SocketEndpoint;
  readonly context: SocketContext;
  /** Network connection of the websocket. */
  readonly connection: Socket;
  readonly limits: Pick<HttpLimits, 'socketSendBytesMax' | 'readerStallMs' | 'abortGraceMs' | 'requestReceiveMs'>;
  readonly acquireMemory: ReserveMessagesOptions['acquire'];
  readonly clock: Clock;
  readonly log: Log;
  readonly startInterval: StartInterval;
}

export interface RunningSocket {
  readonly keyId: string;
  readonly session: SocketSession;
  terminate(): void;
  readonly closed: Promise<void>;
}

/** Connects a websocket with a new session of its endpoint, until one of them ends. */
export function runSocket(
  socket: WebSocket,
  { endpoint, context, connection, limits, acquireMemory, clock, log, startInterval }: RunSocketDeps,
): RunningSocket {
  const { requestId, owner } = context;
  const openedAt = clock.monotonic();
  const { promise: closed, resolve: resolveClosed } = Promise.withResolvers<void>();
  /** Reason of an abnormal close. */
  let fault: string | undefined;
  let stopPongs: (() => void) | undefined;

  const terminate = (why: string): void => {
    fault ??= why;
    socket.terminate();
  };

  /** Causes for which the connection is not read: the session, or a message that waits for memory. */
  const pausedBy = new Set<'session' | 'memory'>();
  const setPaused = (by: 'session' | 'memory', isPaused: boolean): void => {
    if (isPaused) pausedBy.add(by);
    else pausedBy.delete(by);
    if (pausedBy.size > 0) {
      socket.pause();
      // Pings are not read either while paused. Unsolicited pongs keep the connection alive for the client.
      stopPongs ??= startInterval(SOCKET_PONG_MS, () => socket.pong());
    } else {
      stopPongs?.();
      stopPongs = undefined;
      if (socket.isPaused) socket.resume();
    }
  };
  const resumeReading = (): void => setPaused('session', false);

  const peer: SocketPeer = {
    send(text) {
      if (socket.readyState !== socket.OPEN) return;
      socket.send(text);
      if (socket.bufferedAmount > limits.socketSendBytesMax) terminate('the client does not read');
    },
    pauseReading: () => setPaused('session', true),
    resumeReading,
    close(code, reason) {
      resumeReading();
      socket.close(code, reason);
      setTimeout(() => socket.terminate(), limits.abortGraceMs).unref();
    },
  };
  const session = endpoint.open(peer, context);

  socket.on('message', (data, isBinary) => {
    if (isBinary) session.onBinary(toBuffer(data));
    else session.onText(toBuffer(data).toString('utf8'));
  });
  reserveMessages(socket, connection, {
    acquire: acquireMemory,
    setPaused: (isPaused) => setPaused('memory', isPaused),
    fail: (error) => {
      fault ??= error.message;
      session.abort(error);
    },
    receiveMs: limits.requestReceiveMs,
    startInterval,
  });
  socket.on('error', (error) => {
    fault ??= error.message;
    // ws has started the closing handshake. A client that violates the protocol may never complete it.
    session.onDisconnect();
    setTimeout(() => socket.terminate(), limits.abortGraceMs).unref();
  });
  connection.setTimeout(limits.readerStallMs, () => {
    if (socket.bufferedAmount > 0) terminate('the client does not read');
  });
  socket.on('close', (code) => {
    resumeReading();
    session.onDisconnect();
    const { region, workspace, keyId } = owner;
    const durationMs = Math.round(clock.monotonic() - openedAt);
    log.info('websocket', {
      requestId,
      operation: endpoint.operation,
      code,
      fault,
      region,
      workspace,
      keyId,
      durationMs,
    });
    resolveClosed();
  });
  return { keyId: owner.keyId, session, terminate: () => socket.terminate(), closed };
}

const toBuffer = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data);
