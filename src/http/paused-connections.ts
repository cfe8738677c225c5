import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as SecureServer } from 'node:tls';
import { createActiveList } from './active-list.ts';
import { PIPELINED_BYTES_MAX } from './limits.ts';

/**
 * Connections that are read no further, because too much waits on them for a response. `node:http` cannot stop in the middle
 * of its input, except at a request that changes the protocol: then it leaves the connection to the server, which gives it
 * back later.
 */
export interface PausedConnections {
  /** Prepares for connections of a server. */
  watch(server: Server): void;
  /**
   * Keeps a request and what follows it until the earlier responses are complete, then lets the server read all of it as if
   * it had just arrived. Drops it if the connection closes before that.
   * @param head What was read after the head of the request.
   * @param lastResponse The response to the request before.
   * @param onRelease Called before the server reads again.
   */
  pause(
    server: Server,
    { request, head }: { readonly request: IncomingMessage; readonly head: Buffer },
    lastResponse: ServerResponse,
    onRelease: () => void,
  ): void;
  /** Closes all paused connections: the server does not know them. */
  destroyAll(): void;
}

/** Events of a connection that `node:http` passes to the responses, until the protocol changes. */
const RESPONSE_EVENTS = ['close', 'drain', 'error', 'timeout'] as const;

interface EventListener {
  readonly event: (typeof RESPONSE_EVENTS)[number];
  readonly listener: (...args: unknown[]) => void;
}

/** @param startLater Runs a task when other connections have had their turn. */
export function createPausedConnections(startLater: (task: () => void) => void): PausedConnections {
  const listenersBySocket = new WeakMap<Socket, readonly EventListener[]>();
  const paused = createActiveList<Socket>();

  return {
    watch(server) {
      server.on(
        getConnectionEvent(server),
        (socket: Socket) => void listenersBySocket.set(socket, listListeners(socket)),
      );
    },
    pause(server, { request, head }, lastResponse, onRelease) {
      const { socket } = request;
      const present = listListeners(socket).map(({ listener }) => listener);
      const removed = (listenersBySocket.get(socket) ?? []).filter(({ listener }) => !present.includes(listener));
      const pieces = [formatHead(request)];
      let bytes = 0;
      // Reading on shows when the client leaves.
      const onData = (piece: Buffer): void => {
        pieces.push(piece);
        bytes += piece.length;
        if (bytes >= PIPELINED_BYTES_MAX) socket.pause();
      };
      // As `node:http` does.
      const onEnd = (): void => void socket.end();
      const onClose = (): void => paused.remove(socket);
      const release = (): void => {
        if (socket.destroyed || socket.writableEnded) return;
        for (const { event, listener } of removed) socket.off(event, listener);
        socket.off('data', onData).off('end', onEnd).off('close', onClose);
        paused.remove(socket);
        onRelease();
        socket.setTimeout(0);
        socket.pause();
        socket.unshift(Buffer.concat(pieces));
        server.emit(getConnectionEvent(server), socket);
        socket.resume();
      };
      for (const { event, listener } of removed) socket.on(event, listener);
      socket.on('data', onData).once('end', onEnd).once('close', onClose);
      paused.add(socket);
      onData(head);
      lastResponse.once('close', () => startLater(release));
    },
    destroyAll() {
      for (const socket of paused.list()) socket.destroy();
    },
  };
}

const getConnectionEvent = (server: Server): string =>
  server instanceof SecureServer ? 'secureConnection' : 'connection';

const listListeners = (socket: Socket): readonly EventListener[] =>
  RESPONSE_EVENTS.flatMap((event) =>
    socket.listeners(event).map((listener) => ({ event, listener: listener as EventListener['listener'] })),
  );

/** Formats the head of a request as it was received, apart from blanks. */
function formatHead({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
