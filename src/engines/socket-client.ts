import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { getAbortError } from './get-abort-error.ts';
import { destroyOnAbort } from './destroy-on-abort.ts';
import { EngineGoneError } from './engine-gone-error.ts';

/** Address of an engine process of Parley. */
export interface SocketAddress {
  /** Path of a Unix domain socket, or 127.0.0.1:port. */
  readonly socket: string;
  /** Required on every call when the socket is a loopback TCP address. */
  readonly token?: string | undefined;
}

/** HTTP client of an engine process of Parley; its connections are kept alive. */
export interface SocketClient {
  /**
   * Resolves with the response head. An abort closes the connection, which cancels the work in the process.
   * @param body A JSON text, or bytes.
   * @throws EngineGoneError if the process does not respond; the signal's reason.
   */
  call(method: string, path: string, body?: string | Uint8Array, signal?: AbortSignal): Promise<IncomingMessage>;
  close(): void;
}

export function createSocketClient({ socket, token }: SocketAddress): SocketClient {
  const agent = new Agent({ keepAlive: true });
  const address = socket.startsWith('127.0.0.1:')
    ? { host: '127.0.0.1', port: Number(socket.slice('127.0.0.1:'.length)) }
    : { socketPath: socket };
  return {
    call: (method, path, body, signal) =>
      new Promise((resolve, reject) => {
        const call = httpRequest({
          ...address,
          agent,
          method,
          path,
          headers: {
            'content-type': body instanceof Uint8Array ? 'application/octet-stream' : 'application/json',
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          },
        });
        destroyOnAbort(call, signal);
        call.on('response', resolve);
        // After the response has started, this error also reaches the reader of the response.
        call.on('error', (error) => reject(signal?.aborted ? getAbortError(signal) : new EngineGoneError(error)));
        call.end(body);
      }),
    close: () => agent.destroy(),
  };
}
