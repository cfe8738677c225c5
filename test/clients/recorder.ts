import { once } from 'node:events';
import { createServer, request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a client asked and what it was told, as both went over the line. */
export interface Exchange {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly status: number;
  /** Without parameters; empty where there was none. */
  readonly type: string;
  readonly body: string;
  /** False where the client went away before the end. */
  readonly isWhole: boolean;
}

export interface RecorderOptions {
  /** Asked with each piece of an answer, with all that was told of it, whether its connections break there. Default: nowhere. */
  readonly breaksOff?: (told: () => string) => boolean;
}

export interface Recorder {
  /** Takes the place of the service's address. */
  readonly address: string;
  /** In the order in which they ended. */
  readonly exchanges: readonly Exchange[];
  stop(): Promise<void>;
}

/** Stands between any client and a service, changes nothing but the host name, and keeps what was told. */
export async function startRecorder(service: string, { breaksOff }: RecorderOptions = {}): Promise<Recorder> {
  const exchanges: Exchange[] = [];
  const server = createServer((asked, told) => relay(asked, told));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  function relay(asked: IncomingMessage, told: ServerResponse): void {
    const { method = '', url = '/' } = asked;
    // Connections are not kept: a client that goes away takes its one with it.
    const headers = { ...asked.headers, host: new URL(service).host };
    const onward = ask(new URL(url, service), { method, headers, agent: false }, (answer) => {
      const pieces: Buffer[] = [];
      const { statusCode: status = 0 } = answer;
      const body = (): string => Buffer.concat(pieces).toString('utf8');
      const note = (isWhole: boolean): void => {
        const type = answer.headers['content-type']?.split(';')[0] ?? '';
        exchanges.push({ method, path: new URL(url, service).pathname, status, type, body: body(), isWhole });
      };
      told.writeHead(status, answer.headers);
      // Known before the first piece, as from the service itself.
      told.flushHeaders();
      answer.on('data', (piece: Buffer) => {
        pieces.push(piece);
        if (breaksOff?.(body)) told.write(piece, () => onward.destroy());
        else told.write(piece);
      });
      answer.on('end', () => {
        note(true);
        told.end();
      });
      answer.on('error', () => {
        note(false);
        told.destroy();
      });
    });
    onward.on('error', () => told.destroy());
    told.on('close', () => onward.destroy());
    asked.pipe(onward);
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
