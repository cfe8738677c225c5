import { Agent, request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { abortReason } from './abort-reason.ts';
import { endOnAbort } from './end-on-abort.ts';
import { EngineGoneError } from './engine-gone.ts';

/** How an engine process of ours is reached. */
export interface SocketAddress {
  /** Path of a Unix domain socket, or 127.0.0.1:port. */
  readonly socket: string;
  /** Required on every call when the socket is a loopback TCP address. */
  readonly token?: string | undefined;
}

/** Calls over HTTP to an engine process of ours, on connections that are kept. */
export interface SocketCalls {
  /**
   * Resolves with the head of the answer. An abort closes the connection, which is how the process hears of it.
   * @param body JSON, or bytes. @throws EngineGoneError when the process does not answer; the signal's reason.
   */
  call(method: string, path: string, body?: string | Uint8Array, signal?: AbortSignal): Promise<IncomingMessage>;
  close(): void;
}

export function createSocketCalls({ socket, token }: SocketAddress): SocketCalls {
  const agent = new Agent({ keepAlive: true });
  const address = socket.startsWith('127.0.0.1:')
    ? { host: '127.0.0.1', port: Number(socket.slice('127.0.0.1:'.length)) }
    : { socketPath: socket };
  return {
    call: (method, path, body, signal) =>
      new Promise((resolve, reject) => {
        const sent = httpRequest({
          ...address,
          agent,
          method,
          path,
          headers: {
            'content-type': body instanceof Uint8Array ? 'application/octet-stream' : 'application/json',
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          },
        });
        endOnAbort(sent, signal);
        sent.on('response', resolve);
        // After the response this is the socket's end, which the reader of the response sees too.
        sent.on('error', (error) => reject(signal?.aborted ? abortReason(signal) : new EngineGoneError(error)));
        sent.end(body);
      }),
    close: () => agent.destroy(),
  };
}
