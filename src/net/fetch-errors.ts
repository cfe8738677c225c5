import { ServiceError } from '../core/error.ts';
import { getErrorCode } from '../lib/error-code.ts';

/** Creates the error for a URL that is not allowed. No error of a fetch contains a host, an address or a URL. */
export const createInvalidUrlError = (problem: string): ServiceError =>
  new ServiceError('invalid-request', `The URL ${problem}.`);

/** The same error for an unknown and for an internal name, so that callers cannot probe the internal network. */
export const createHostError = (cause?: unknown): ServiceError =>
  new ServiceError('invalid-request', "The URL's host has no public address.", { cause });

export const createServerError = (problem: string, cause?: unknown): ServiceError =>
  new ServiceError('upstream-failed', `The server of the URL ${problem}.`, { cause });

export const createTimeoutError = (action: string, ms: number): ServiceError =>
  new ServiceError('timeout', `The server of the URL needed more than ${ms / 1_000} s ${action}.`);

export const createTooLargeError = (bytesMax: number): ServiceError =>
  new ServiceError('too-large', `The response from the URL is larger than ${bytesMax} bytes.`);

export const createEarlyCloseError = (cause?: unknown): ServiceError =>
  createServerError('closed the connection early', cause);

/** Maps an error of a connection. Its own message contains addresses and stays in the cause, for the log. */
export function toConnectionError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const code = getErrorCode(thrown) ?? '';
  if (code === 'HPE_HEADER_OVERFLOW') return createServerError('sent too many headers', thrown);
  if (code.startsWith('HPE_')) return createServerError('sent a response that is not valid HTTP', thrown);
  if (/CERT|TLS|SSL|UNABLE_TO|EPROTO/.test(code)) return createServerError('has no valid certificate', thrown);
  if (/^(Z_|ERR__ERROR|ERR_BROTLI|ERR_PADDING)/.test(code))
    return createServerError('sent a body that cannot be decompressed', thrown);
  if (/REFUSED|UNREACH|TIMEDOUT/.test(code)) return createServerError('cannot be reached', thrown);
  return createEarlyCloseError(thrown);
}
