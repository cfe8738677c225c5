import { IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createPausedConnections } from './paused-connections.ts';
import { PIPELINED_BYTES_MAX, PIPELINED_REQUESTS_MAX, PIPELINED_STARTS_PER_TURN } from './limits.ts';

/**
 * Runs the requests of each connection one after the other. `node:http` reads up to 64 KiB of a connection at once and
 * emits every request in it, thousands of small ones, while their responses wait for each other.
 */
export interface Pipeline {
  /** Class of the requests of a server. It stops the parser at a request that may not wait. */
  readonly IncomingMessage: typeof IncomingMessage;
  /** Prepares for connections of a server. */
  watch(server: Server): void;
  /**
   * Calls `start` when the responses to the earlier requests of the connection are complete: at once if there are none, and
   * never if the connection closes before that.
   */
  run(request: IncomingMessage, response: ServerResponse, start: () => void): void;
  /**
   * Returns whether a request has to wait for the response to an earlier one, and may not: too many requests or bytes wait
   * already, or the request would change the protocol of the connection. The server emits it as `upgrade`.
   */
  isExcessive(request: IncomingMessage): boolean;
  /**
   * Stops reading the connection of an excessive request. The server gets the request again when the responses to the
   * earlier ones are complete.
   * @param head What was read after the head of the request.
   */
  pause(server: Server, request: IncomingMessage, head: Buffer): void;
  /** Returns how many requests, and connections that were not read, have had their turn, but wait for those of others. */
  countDue(): number;
  /** Closes the connections that are not read. */
  destroyPaused(): void;
}

interface ConnectionState {
  /** The response to the last request that was read. */
  lastResponse: ServerResponse;
  /** Requests that wait for the response to an earlier one, and their size. */
  waitingCount: number;
  waitingBytes: number;
  isPaused: boolean;
}

export function createPipeline(): Pipeline {
  const connections = new WeakMap<Socket, ConnectionState>();
  const startQueue = createStartQueue();
  const pausedConnections = createPausedConnections(startQueue.add);

  const isExcessive = (request: IncomingMessage): boolean => {
    const connection = connections.get(request.socket);
    if (!connection || connection.lastResponse.writableFinished) return false;
    return (
      (request instanceof PipelinedMessage && request.changesProtocol) ||
      connection.waitingCount >= PIPELINED_REQUESTS_MAX ||
      connection.waitingBytes + estimateBytes(request) > PIPELINED_BYTES_MAX
    );
  };

  /** `node:http` stops the parser in the middle of its input only at a request that changes the protocol. */
  class PipelinedMessage extends IncomingMessage {
    // Not initialized here: the constructor of the base class sets `upgrade`.
    declare changesProtocol: boolean;
    /** Whether the request runs or waits. `node:http` reads `upgrade` again with each piece of the body. */
    isAccepted = false;
    get upgrade(): boolean {
      return this.changesProtocol || (!this.isAccepted && isExcessive(this));
    }
    set upgrade(value: boolean) {
      this.changesProtocol = value;
    }
    /** The base class resumes the connection, although all of the request is here. */
    override _read(size: number): void {
      if (!connections.get(this.socket)?.isPaused) super._read(size);
    }
  }

  return {
    IncomingMessage: PipelinedMessage,
    isExcessive,
    watch: pausedConnections.watch,
    run(request, response, start) {
      if (request instanceof PipelinedMessage) request.isAccepted = true;
      const { socket } = request;
      const connection = connections.get(socket);
      if (!connection) {
        connections.set(socket, { lastResponse: response, waitingCount: 0, waitingBytes: 0, isPaused: false });
        return start();
      }
      const previous = connection.lastResponse;
      connection.lastResponse = response;
      // A response has a socket when those to all earlier requests of the connection are complete.
      if (response.socket) return start();
      const bytes = estimateBytes(request);
      connection.waitingCount += 1;
      connection.waitingBytes += bytes;
      const startNext = (): void => {
        if (socket.destroyed) return;
        connection.waitingCount -= 1;
        connection.waitingBytes -= bytes;
        start();
      };
      previous.once('close', () => startQueue.add(startNext));
    },
    pause(server, request, head) {
      const { socket } = request;
      const connection = connections.get(socket);
      if (!connection) return;
      connection.isPaused = true;
      pausedConnections.pause(server, { request, head }, connection.lastResponse, () => connections.delete(socket));
    },
    countDue: startQueue.count,
    destroyPaused: pausedConnections.destroyAll,
  };
}

/**
 * Creates a queue of which a few tasks run in each turn of the event loop, so that others go first: otherwise all the
 * requests of a connection, or one of each of a thousand connections, would run in one turn.
 */
function createStartQueue(): { add(task: () => void): void; count(): number } {
  let waiting: (() => void)[] = [];
  const runSome = (): void => {
    const [due, later] = [waiting.slice(0, PIPELINED_STARTS_PER_TURN), waiting.slice(PIPELINED_STARTS_PER_TURN)];
    waiting = later;
    if (waiting.length > 0) setImmediate(runSome);
    for (const task of due) task();
  };
  return {
    add(task) {
      if (waiting.push(task) === 1) setImmediate(runSome);
    },
    count: () => waiting.length,
  };
}

/** Returns the bytes of a request in memory until it is read; Infinity for a body of unknown length. */
function estimateBytes({ url = '', rawHeaders, headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return Infinity;
  const headBytes = rawHeaders.reduce((sum, text) => sum + text.length, url.length);
  return headBytes + Number(headers['content-length'] ?? 0);
}
