import { INTERNAL_MESSAGE, ServiceError } from '../core/error.ts';
import { createDiskFullError } from '../core/storage-error.ts';
import type { S3Credentials } from './s3-client.ts';

/** Characters of a server's error text that the log keeps. */
const ERROR_TEXT_CHARS_MAX = 500;

/** HTTP status of a full store. Some servers send an error code of their own with another status. */
const STATUS_INSUFFICIENT_STORAGE = 507;
const STORAGE_FULL_CODES: ReadonlySet<string | undefined> = new Set(['QuotaExceeded', 'XMinioStorageFull']);

/**
 * Maps an error of the S3 client to `internal`, or to `overloaded` if the store is full. The cause for the log contains
 * the server's error code and request id. The original error is dropped: it contains the request, its signature, and
 * what the server repeats of them.
 */
export function mapS3Error(operation: string, thrown: unknown, credentials: S3Credentials | undefined): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const secrets = [credentials?.secretAccessKey, credentials?.sessionToken, credentials?.accessKeyId];
  const description =
    thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : 'a thrown value that is not an Error';
  const redacted = secrets.reduce<string>(
    (text, secret) => (secret ? text.replaceAll(secret, '[redacted]') : text),
    description,
  );
  const { status, requestId } = readResponseMetadata(thrown);
  const response = status === undefined ? 'no response' : `status ${status}, request ${requestId ?? 'without an id'}`;
  const cause = new Error(`S3 ${operation} failed (${response}): ${redacted.slice(0, ERROR_TEXT_CHARS_MAX)}`);
  if (status === STATUS_INSUFFICIENT_STORAGE || STORAGE_FULL_CODES.has(getS3ErrorCode(thrown)))
    return createDiskFullError(cause);
  return new ServiceError('internal', INTERNAL_MESSAGE, { cause });
}

/** Returns the server's error code, which the client uses as the name of the error. */
export const getS3ErrorCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error ? thrown.name : undefined;

function readResponseMetadata(thrown: unknown): { readonly status?: number; readonly requestId?: string } {
  if (!(thrown instanceof Error) || !('$metadata' in thrown)) return {};
  const metadata = thrown.$metadata;
  if (typeof metadata !== 'object' || metadata === null) return {};
  return {
    ...('httpStatusCode' in metadata && typeof metadata.httpStatusCode === 'number'
      ? { status: metadata.httpStatusCode }
      : {}),
    ...('requestId' in metadata && typeof metadata.requestId === 'string' ? { requestId: metadata.requestId } : {}),
  };
}
