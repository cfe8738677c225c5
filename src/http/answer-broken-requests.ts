import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../core/error.ts';
import type { IdGenerator } from '../core/id.ts';
import type { Log } from '../core/telemetry.ts';
import type { AddressLimits } from './address-limits.ts';
import { formatLastResponse, type LastResponse } from './format-last-response.ts';

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

export interface BrokenRequestDeps {
  readonly ids: IdGenerator;
  readonly log: Log;
  /** Time in ms that a rejected client may take to close its side. After that the connection is cut. */
  readonly lingerMs: number;
  readonly addressLimits: Pick<AddressLimits, 'countRefusals' | 'isAboveRefusalRate'>;
}

/**
 * Answers input that never became a request: invalid HTTP, too large a head, a client that sends too slowly, and
 * CONNECT. The path is unknown, so the body has the OpenAI-compatible shape. Nothing is sent where the client would
 * read the answer as the response to another request or as a part of that response.
 */
export function answerBrokenRequests(server: Server, { ids, log, lingerMs, addressLimits }: BrokenRequestDeps): void {
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

  const refuse = (socket: Socket, response: LastResponse): void => {
    if (refusedSockets.has(socket)) return; // each later chunk raises the same error again
    const { status, error } = response;
    addressLimits.countRefusals(socket);
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
      const earlier = exchange.response;
      if (!earlier.headersSent) earlier.shouldKeepAlive = false;
      earlier.once('close', () => closeSocket(socket));
      return;
    }
    log.info('request', { ...logFields, status });
    closeSocket(socket, formatLastResponse(response, requestId));
  };

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const { code = '' } = error;
    const isUnanswerable = !socket.writable || code === 'ECONNRESET' || TLS_FAILURE.test(code);
    if (isUnanswerable || addressLimits.isAboveRefusalRate(socket)) return void socket.destroy();
    const status = STATUS_BY_ERROR_CODE[code] ?? 400;
    refuse(socket, { status, error: new ServiceError('invalid-request', MESSAGE_BY_STATUS[status] ?? '') });
  });
  server.on('connect', (_request, socket: Socket) => {
    // The HTTP server has detached the socket and no longer closes it on errors.
    socket.on('error', () => socket.destroy());
    socket.once('finish', () => socket.destroy());
    socket.resume();
    const error = new ServiceError('method-not-allowed', "Request method 'CONNECT' is not supported.");
    refuse(socket, { status: 405, error, headers: 'allow: \r\n' });
  });
}
