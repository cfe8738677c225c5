import type { Server, ServerResponse } from 'node:http';
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

/**
 * Answers what never became a request: no HTTP, too large a head, too slow a sender. The path is not known, so the answer
 * has the compatible shape. A connection on which an answer has begun is only closed: more bytes would look like its part.
 */
export function answerBrokenRequests(server: Server, { ids, log }: { readonly ids: Ids; readonly log: Log }): void {
  const responses = new WeakMap<Duplex, ServerResponse>();
  server.on('request', ({ socket }, response) => void responses.set(socket, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const response = responses.get(socket);
    const hasBegun = response?.headersSent === true && !response.writableFinished;
    if (!socket.writable || error.code === 'ECONNRESET' || hasBegun) {
      socket.destroy();
      return;
    }
    const status = STATUS_OF[error.code ?? ''] ?? 400;
    const requestId = ids.request();
    const body = JSON.stringify(errorBody(new ServiceError('invalid-request', TEXT_OF[status] ?? ''), requestId));
    log.info('request', { requestId, operation: 'unreadable', status, kind: 'invalid-request' });
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${requestId}\r\n\r\n${body}`,
    );
  });
}
