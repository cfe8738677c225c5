import type { ServiceError } from '../core/error.ts';
import { RETRY_AFTER_SECONDS, RETRY_AFTER_SECONDS_MAX } from '../core/limits.ts';
import { FAMILIES } from '../protocols/families.ts';
import type { Call } from './call.ts';

export interface TextResponse {
  readonly status: number;
  readonly text: string;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Writes a complete response. Does nothing if the client has disconnected or the head is sent. */
export function writeResponse(
  call: Call,
  { status, text, contentType = 'application/json', headers }: TextResponse,
): void {
  const { response } = call;
  if (response.destroyed || response.headersSent) return;
  call.markFirstByte();
  response.writeHead(status, {
    ...createResponseHeaders(call, { isComplete: true }),
    ...headers,
    ...(text === '' ? {} : { 'content-type': contentType }),
    ...(status === 204 ? {} : { 'content-length': String(Buffer.byteLength(text)) }),
  });
  response.end(text);
}

/** Writes an error in the shape of the call's protocol family, with the status of its kind. */
export function writeError(call: Call, error: ServiceError): void {
  const family = FAMILIES[call.family];
  const status = family.getStatus(error.kind);
  const retryAfter = error.retryAfterSeconds ?? (status === 429 || status === 503 ? RETRY_AFTER_SECONDS : undefined);
  call.error ??= error;
  writeResponse(call, {
    status,
    text: JSON.stringify(family.encodeErrorBody(error, call.requestId)),
    headers: {
      ...(retryAfter === undefined
        ? {}
        : { 'retry-after': String(Math.min(Math.ceil(retryAfter), RETRY_AFTER_SECONDS_MAX)) }),
      // Client libraries would repeat the whole request, which would take as long again.
      ...(error.kind === 'timeout' ? { 'x-should-retry': 'false' } : {}),
      ...(error.allow ? { allow: error.allow.join(', ') } : {}),
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    },
  });
}

/**
 * Creates the headers that every response has, at the time when its head is sent. `server-timing` is the time from the
 * arrival to the head in ms: for a stream, the wait for the first token.
 *
 * @param isComplete Whether the whole body is known.
 */
export function createResponseHeaders(
  call: Call,
  { isComplete }: { readonly isComplete: boolean },
): Record<string, string> {
  const elapsedMs = call.elapsedMs();
  return {
    ...call.headers,
    'server-timing': `total;dur=${elapsedMs.toFixed(1)}`,
    ...FAMILIES[call.family].headers?.({ arrivedAt: call.arrivedAt, elapsedMs, isComplete }),
  };
}
