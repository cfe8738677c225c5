import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../core/error.ts';
import type { IdGenerator } from '../core/id.ts';
import type { Log } from '../core/telemetry.ts';
import { encodeErrorBody } from '../protocols/compatible/errors.ts';

const STATUS_BY_ERROR_CODE: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

const MESSAGE_BY_STATUS: Readonly<Record<number, string>> = {
  400: 'The request is not valid HTTP.',
  408: 'The client took too long to send the request.',
  431: 'The headers of the request are too large.',
};

/** Codes of failed TLS handshakes, after which nothing can be sent. */
const TLS_FAILURE = /^(?:ERR_SSL_|ERR_TLS_|EPROTO$)/;

interface ErrorResponse {
  readonly status: number;
  readonly error: ServiceError;
  readonly headers?: string;
}

export interface BrokenRequestDeps {
  readonly ids: IdGenerator;
  readonly log: Log;
  /** Time in ms that a rejected client may take to close its side. After that the connection is cut. */
  readonly lingerMs: number;
}

/**
 * Answers input that never became a request: invalid HTTP, too large a head, a client that sends too slowly, and
 * CONNECT. The path is unknown, so the body has the OpenAI-compatible shape. Nothing is sent where the client would
 * read the answer as the response to another request or as a part of that response.
 */
export function answerBrokenRequests(server: Server, { ids, log, lingerMs }: BrokenRequestDeps): void {
  const exchanges = new WeakMap<Duplex, { readonly request: IncomingMessage; readonly response: ServerResponse }>();
  const refusedSockets = new WeakSet<Duplex>();
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    server.on(event, (request, response) => void exchanges.set(request.socket, { request, response }));
  }

  const closeSocket = (socket: Duplex, text = ''): void => {
    const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
    socket.once('close', () => clearTimeout(timer));
    socket.end(text);
  };

  const refuse = (socket: Duplex, { status, error, headers = '' }: ErrorResponse): void => {
    if (refusedSockets.has(socket)) return; // each later chunk raises the same error again
    const exchange = exchanges.get(socket);
    if (exchange && !exchange.request.complete) {
      // The request body broke off. This answer is its response, unless that has started or an earlier response is
      // pending.
      const { headersSent, socket: responseSocket } = exchange.response;
      if (headersSent || responseSocket === null) return void socket.destroy();
    }
    refusedSockets.add(socket);
    const requestId = ids.createRequestId();
    const logFields = { requestId, operation: 'unreadable', kind: error.kind };
    if (exchange?.request.complete === true && !exchange.response.writableFinished) {
      log.info('request', logFields);
      const { response } = exchange;
      if (!response.headersSent) response.shouldKeepAlive = false;
      response.once('close', () => closeSocket(socket));
      return;
    }
    log.info('request', { ...logFields, status });
    const body = JSON.stringify(encodeErrorBody(error, requestId));
    closeSocket(
      socket,
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${requestId}\r\n${headers}\r\n${body}`,
    );
  };

  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const { code = '' } = error;
    if (!socket.writable || code === 'ECONNRESET' || TLS_FAILURE.test(code)) return void socket.destroy();
    const status = STATUS_BY_ERROR_CODE[code] ?? 400;
    refuse(socket, { status, error: new ServiceError('invalid-request', MESSAGE_BY_STATUS[status] ?? '') });
  });
  server.on('connect', (_request, socket) => {
    // The HTTP server has detached the socket and no longer closes it on errors.
    socket.on('error', () => socket.destroy());
    socket.once('finish', () => socket.destroy());
    socket.resume();
    const error = new ServiceError('method-not-allowed', "Request method 'CONNECT' is not supported.");
    refuse(socket, { status: 405, error, headers: 'allow: \r\n' });
  });
}
