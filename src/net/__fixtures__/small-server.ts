import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Server, Socket } from 'node:net';
import { createServer as createRawServer } from 'node:net';

export interface SmallServer {
  readonly port: number;
  /** How many connections came. */
  readonly connections: () => number;
  close(): Promise<void>;
}

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

/** Of `files.parley.example` alone, signed by itself, for a hundred years. */
export const CERTIFICATE = read('certificate.pem');

export const startServer = (listener: RequestListener): Promise<SmallServer> => listen(createServer(listener));

export const startTlsServer = (listener: RequestListener): Promise<SmallServer> =>
  listen(createTlsServer({ key: read('key.pem'), cert: CERTIFICATE }, listener));

/** Speaks as it likes. */
export const startRawServer = (onSocket: (socket: Socket) => void): Promise<SmallServer> =>
  listen(
    createRawServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => onSocket(socket));
    }),
  );

function listen(server: Server): Promise<SmallServer> {
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
        connections: () => connections,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            for (const socket of sockets) socket.destroy();
          }),
      });
    });
  });
}
