import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request and its response as they were transferred. */
export interface Exchange {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  readonly status: number;
  /** The content type without parameters; empty when the response has none. */
  readonly contentType: string;
  readonly body: string;
  /** False when the connection closed before the end of the response. */
  readonly isComplete: boolean;
}

export interface RecordingProxyOptions {
  /**
   * Called with each piece of a response: true closes the connection there. `getBody` returns the body so far. Default:
   * never.
   */
  readonly shouldDisconnect?: (getBody: () => string) => boolean;
}

export interface RecordingProxy {
  /** URL for clients, instead of the address of the service. */
  readonly address: string;
  /** All exchanges in the order in which they finished. */
  readonly exchanges: readonly Exchange[];
  stop(): Promise<void>;
}

/** Starts a proxy between a client and a service, which changes only the host header and records all exchanges. */
export async function startRecordingProxy(
  serviceUrl: string,
  { shouldDisconnect }: RecordingProxyOptions = {},
): Promise<RecordingProxy> {
  const exchanges: Exchange[] = [];
  const server = createServer((request, response) => relay(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  function relay(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '/' } = request;
    // No keep-alive: when a client disconnects, its upstream connection closes, too.
    const headers = { ...request.headers, host: new URL(serviceUrl).host };
    const upstreamRequest = httpRequest(
      new URL(url, serviceUrl),
      { method, headers, agent: false },
      (upstreamResponse) => {
        const pieces: Buffer[] = [];
        const { statusCode: status = 0 } = upstreamResponse;
        const getBody = (): string => Buffer.concat(pieces).toString('utf8');
        const recordExchange = (isComplete: boolean): void => {
          const contentType = upstreamResponse.headers['content-type']?.split(';')[0] ?? '';
          exchanges.push({
            method,
            path: new URL(url, serviceUrl).pathname,
            status,
            contentType,
            body: getBody(),
            isComplete,
          });
        };
        response.writeHead(status, upstreamResponse.headers);
        // The client gets the headers before the first piece, as from the service itself.
        response.flushHeaders();
        upstreamResponse.on('data', (piece: Buffer) => {
          pieces.push(piece);
          if (shouldDisconnect?.(getBody)) response.write(piece, () => upstreamRequest.destroy());
          else response.write(piece);
        });
        upstreamResponse.on('end', () => {
          recordExchange(true);
          response.end();
        });
        upstreamResponse.on('error', () => {
          recordExchange(false);
          response.destroy();
        });
      },
    );
    upstreamRequest.on('error', () => response.destroy());
    response.on('close', () => upstreamRequest.destroy());
    request.pipe(upstreamRequest);
  }

  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exchanges,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
