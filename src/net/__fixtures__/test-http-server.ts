import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createRawServer, type Server, type Socket } from 'node:net';

export interface TestHttpServer {
  readonly port: number;
  /** Returns the number of connections accepted so far. */
  readonly countConnections: () => number;
  close(): Promise<void>;
}

const readFixture = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

/** Self-signed certificate of `files.parley.example`, valid for a hundred years. */
export const TEST_CERTIFICATE = readFixture('certificate.pem');

export const startTestHttpServer = (listener: RequestListener): Promise<TestHttpServer> => listen(createServer(listener));

export const startTestHttpsServer = (listener: RequestListener): Promise<TestHttpServer> =>
  listen(createTlsServer({ key: readFixture('key.pem'), cert: TEST_CERTIFICATE }, listener));

/** Starts a TCP server that calls `onSocket` after the first bytes of each connection. */
export const startTestTcpServer = (onSocket: (socket: Socket) => void): Promise<TestHttpServer> =>
  listen(
    createRawServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => onSocket(socket));
    }),
  );

function listen(server: Server): Promise<TestHttpServer> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve({
        port: typeof address === 'object' && address ? address.port : 0,
        countConnections: () => connections,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            for (const socket of sockets) socket.destroy();
          }),
      });
    });
  });
}
