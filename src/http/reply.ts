import type { ServiceError } from '../core/error.ts';
import { RETRY_AFTER_SECONDS, RETRY_AFTER_SECONDS_MAX } from '../core/limits.ts';
import { FAMILIES } from '../protocols/families.ts';
import type { Call } from './call.ts';

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A whole answer. Does nothing where nobody is there to read it. */
export function write(call: Call, { status, text, contentType = 'application/json', headers }: Answer): void {
  const { response } = call;
  if (response.destroyed || response.headersSent) return;
  call.markFirstByte();
  response.writeHead(status, {
    ...headOf(call, { isComplete: true }),
    ...headers,
    ...(text === '' ? {} : { 'content-type': contentType }),
    ...(status === 204 ? {} : { 'content-length': String(Buffer.byteLength(text)) }),
  });
  response.end(text);
}

/** The refusal in the shape of the path's family, with its real status. */
export function writeError(call: Call, error: ServiceError): void {
  const family = FAMILIES[call.family];
  const status = family.status(error.kind);
  const retryAfter = error.retryAfterSeconds ?? (status === 429 || status === 503 ? RETRY_AFTER_SECONDS : undefined);
  call.error ??= error;
  write(call, {
    status,
    text: JSON.stringify(family.errorBody(error, call.requestId)),
    headers: {
      ...(retryAfter === undefined
        ? {}
        : { 'retry-after': String(Math.min(Math.ceil(retryAfter), RETRY_AFTER_SECONDS_MAX)) }),
      ...(error.allow ? { allow: error.allow.join(', ') } : {}),
    },
  });
}

/**
 * Headers of whatever is answered, when the head goes out now. Arrival to head, in ms, is for a stream the wait and the
 * first token.
 *
 * @param isComplete The body is there as a whole.
 */
export function headOf(call: Call, { isComplete }: { readonly isComplete: boolean }): Record<string, string> {
  const elapsedMs = call.elapsedMs();
  return {
    ...call.headers,
    'server-timing': `total;dur=${elapsedMs.toFixed(1)}`,
    ...FAMILIES[call.family].headers?.({ arrivedAt: call.arrivedAt, elapsedMs, isComplete }),
  };
}
