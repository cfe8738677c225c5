import { ServiceError } from '../core/error.ts';

/** What is wrong with the URL as it stands. No message of a fetch holds a host, an address or a part of the URL. */
export const notAllowed = (what: string): ServiceError => new ServiceError('invalid-request', `The URL ${what}.`);

/** The same for a name that does not exist and for one that leads inside: nobody can find out by it what there is inside. */
export const unusableHost = (cause?: unknown): ServiceError =>
  new ServiceError('invalid-request', "The URL's host has no public address.", { cause });

export const serverFailed = (what: string, cause?: unknown): ServiceError =>
  new ServiceError('upstream-failed', `The server of the URL ${what}.`, { cause });

export const tookTooLong = (what: string, ms: number): ServiceError =>
  new ServiceError('timeout', `The server of the URL needed more than ${ms / 1_000} s ${what}.`);

export const tooLarge = (bytesMax: number): ServiceError =>
  new ServiceError('too-large', `What the URL leads to is larger than ${bytesMax} bytes.`);

/** What a connection that failed is told as. Its own words hold addresses: they are for the log. */
export function connectionFailure(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  if (code === 'HPE_HEADER_OVERFLOW') return serverFailed('sent too many headers', thrown);
  if (code.startsWith('HPE_')) return serverFailed('sent an answer that is not valid HTTP', thrown);
  if (/CERT|TLS|SSL|UNABLE_TO|EPROTO/.test(code)) return serverFailed('has no valid certificate', thrown);
  if (/^(Z_|ERR__ERROR|ERR_BROTLI|ERR_PADDING)/.test(code))
    return serverFailed('sent a body that cannot be unpacked', thrown);
  if (/REFUSED|UNREACH|TIMEDOUT/.test(code)) return serverFailed('cannot be reached', thrown);
  return serverFailed('broke the connection', thrown);
}
