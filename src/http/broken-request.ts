import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../core/error.ts';
import type { Ids } from '../core/id.ts';
import type { Log } from '../core/telemetry.ts';
import { errorBody } from '../protocols/compatible/errors.ts';

const STATUS_OF: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

const TEXT_OF: Readonly<Record<number, string>> = {
  400: 'The request is no valid HTTP.',
  408: 'The request took too long to arrive.',
  431: 'The headers of the request are too large.',
};

interface Refusal {
  readonly status: number;
  readonly error: ServiceError;
  readonly headers?: string;
}

export interface BrokenRequestNeeds {
  readonly ids: Ids;
  readonly log: Log;
  /** How long, in ms, a refused peer may take to close its side. Beyond: it is cut off. */
  readonly lingerMs: number;
}

/**
 * Answers what never became a request: no HTTP, too large a head, too slow a sender, a tunnel. The path is not known, so the
 * answer has the compatible shape. It is not sent where the peer would take it for another answer, or for its part.
 */
export function answerBrokenRequests(server: Server, { ids, log, lingerMs }: BrokenRequestNeeds): void {
  const exchanges = new WeakMap<Duplex, { readonly request: IncomingMessage; readonly response: ServerResponse }>();
  const ending = new WeakSet<Duplex>();
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    server.on(event, (request, response) => void exchanges.set(request.socket, { request, response }));
  }

  const end = (socket: Duplex, text = ''): void => {
    const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
    socket.once('close', () => clearTimeout(timer));
    socket.end(text);
  };

  const refuse = (socket: Duplex, { status, error, headers = '' }: Refusal): void => {
    if (ending.has(socket)) return; // each piece of what follows is broken anew
    const exchange = exchanges.get(socket);
    if (exchange && !exchange.request.complete) {
      // Its body broke off: this is its answer, unless that has begun or another one has to go first.
      const { headersSent, socket: own } = exchange.response;
      if (headersSent || own === null) return void socket.destroy();
    }
    ending.add(socket);
    const requestId = ids.request();
    const facts = { requestId, operation: 'unreadable', kind: error.kind };
    if (exchange?.request.complete === true && !exchange.response.writableFinished) {
      log.info('request', facts);
      const { response } = exchange;
      if (!response.headersSent) response.shouldKeepAlive = false;
      response.once('close', () => end(socket));
      return;
    }
    log.info('request', { ...facts, status });
    const body = JSON.stringify(errorBody(error, requestId));
    end(
      socket,
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${requestId}\r\n${headers}\r\n${body}`,
    );
  };

  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const { code = '' } = error;
    if (!socket.writable || code === 'ECONNRESET') return void socket.destroy();
    const status = STATUS_OF[code] ?? 400;
    refuse(socket, { status, error: new ServiceError('invalid-request', TEXT_OF[status] ?? '') });
  });
  server.on('connect', (_request, socket) => {
    // The server has let go of it: what would have ended it otherwise has to be done here.
    socket.on('error', () => socket.destroy());
    socket.once('finish', () => socket.destroy());
    socket.resume();
    const error = new ServiceError('method-not-allowed', "Request method 'CONNECT' is not supported.");
    refuse(socket, { status: 405, error, headers: 'allow: \r\n' });
  });
}
