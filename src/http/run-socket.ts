import type { Socket } from 'node:net';
import type { RawData, WebSocket } from 'ws';
import { SOCKET_PONG_MS } from '../core/limits.ts';
import type { Log } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import type { Every } from '../lib/every.ts';
import type { SocketContext, SocketEndpoint, SocketPeer, SocketSession } from '../protocols/socket-endpoint.ts';
import type { HttpLimits } from './limits.ts';

export interface RunSocketNeeds {
  readonly endpoint: SocketEndpoint;
  readonly context: SocketContext;
  /** What the websocket is spoken over. */
  readonly connection: Socket;
  readonly limits: Pick<HttpLimits, 'socketSendBytesMax' | 'readerStallMs' | 'abortGraceMs'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly every: Every;
}

export interface RunningSocket {
  readonly keyId: string;
  readonly session: SocketSession;
  terminate(): void;
  readonly closed: Promise<void>;
}

/** Joins a websocket and its session, until either of them ends. */
export function runSocket(
  socket: WebSocket,
  { endpoint, context, connection, limits, clock, log, every }: RunSocketNeeds,
): RunningSocket {
  const { requestId, owner } = context;
  const openedAt = clock.monotonic();
  const { promise: closed, resolve: resolveClosed } = Promise.withResolvers<void>();
  /** Why it was cut off, where it did not just end. */
  let fault: string | undefined;
  let endPongs: (() => void) | undefined;

  const cutOff = (why: string): void => {
    fault ??= why;
    socket.terminate();
  };

  const release = (): void => {
    endPongs?.();
    endPongs = undefined;
    if (socket.isPaused) socket.resume();
  };

  const peer: SocketPeer = {
    send(text) {
      if (socket.readyState !== socket.OPEN) return;
      socket.send(text);
      if (socket.bufferedAmount > limits.socketSendBytesMax) cutOff('it does not read');
    },
    hold() {
      socket.pause();
      // Its pings are not read either, and no answer would look like a connection that is dead.
      endPongs ??= every(SOCKET_PONG_MS, () => socket.pong());
    },
    release,
    close(code, reason) {
      release();
      socket.close(code, reason);
      setTimeout(() => socket.terminate(), limits.abortGraceMs).unref();
    },
  };
  const session = endpoint.open(peer, context);

  socket.on('message', (data, isBinary) => {
    if (isBinary) session.binary(bytesOf(data));
    else session.text(bytesOf(data).toString('utf8'));
  });
  socket.on('error', (error) => {
    fault ??= error.message;
    // The goodbye is under way. Who speaks no websocket may not answer it.
    session.gone();
    setTimeout(() => socket.terminate(), limits.abortGraceMs).unref();
  });
  connection.setTimeout(limits.readerStallMs, () => {
    if (socket.bufferedAmount > 0) cutOff('it does not read');
  });
  socket.on('close', (code) => {
    release();
    session.gone();
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

const bytesOf = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data);
