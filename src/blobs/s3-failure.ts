import { INTERNAL_MESSAGE, ServiceError } from '../core/error.ts';
import { diskFull } from '../core/storage-failure.ts';
import type { S3Credentials } from './s3-client.ts';

/** Characters of what a server says about a failure that our log keeps. */
const SAID_CHARS_MAX = 500;

/** HTTP says 507, some servers say it in their own words with another status. */
const STATUS_FULL = 507;
const FULL_CODES: ReadonlySet<string | undefined> = new Set(['QuotaExceeded', 'XMinioStorageFull']);

/**
 * What a failed call is told as: `internal`, or `overloaded` where the server is full; and for the log one line with the server's name for it and its request id.
 * The error of the client itself goes no further: it holds the request, its signature, and what the server repeats of them.
 */
export function s3Failure(operation: string, thrown: unknown, credentials: S3Credentials | undefined): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const secrets = [credentials?.secretAccessKey, credentials?.sessionToken, credentials?.accessKeyId];
  const said = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : 'something that is no error';
  const clean = secrets.reduce<string>((text, secret) => (secret ? text.replaceAll(secret, '[redacted]') : text), said);
  const { status, requestId } = answerOf(thrown);
  const answer = status === undefined ? 'no answer' : `status ${status}, request ${requestId ?? 'without an id'}`;
  const cause = new Error(`S3 ${operation} failed (${answer}): ${clean.slice(0, SAID_CHARS_MAX)}`);
  if (status === STATUS_FULL || FULL_CODES.has(s3Code(thrown))) return diskFull(cause);
  return new ServiceError('internal', INTERNAL_MESSAGE, { cause });
}

/** The server's word for what was wrong. */
export const s3Code = (thrown: unknown): string | undefined => (thrown instanceof Error ? thrown.name : undefined);

function answerOf(thrown: unknown): { readonly status?: number; readonly requestId?: string } {
  if (!(thrown instanceof Error) || !('$metadata' in thrown)) return {};
  const met = thrown.$metadata;
  if (typeof met !== 'object' || met === null) return {};
  return {
    ...('httpStatusCode' in met && typeof met.httpStatusCode === 'number' ? { status: met.httpStatusCode } : {}),
    ...('requestId' in met && typeof met.requestId === 'string' ? { requestId: met.requestId } : {}),
  };
}
