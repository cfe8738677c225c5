import { isUtf8 } from 'node:buffer';
import { ServiceError } from '../core/error.ts';
import { JSON_MEMBERS_MAX, JSON_VALUES_MAX } from '../core/limits.ts';
import { findJsonExcess } from '../lib/find-json-excess.ts';
import { releaseBytes } from '../lib/release-bytes.ts';
import type { BodyReservation } from './body-budget.ts';
import type { Call } from './call.ts';
import { LARGE_BODY_BYTES } from './limits.ts';
import {
  createBodyTooLargeError,
  checkContentEncoding,
  createDisconnectError,
  createInvalidBodyError,
} from './body-errors.ts';

export interface ReadJsonBodyOptions {
  readonly bytesMax: number;
  /** Memory for a large body. The caller releases it. */
  readonly reservation: BodyReservation;
}

/**
 * Reads the bytes of a request's JSON body; returns undefined if there is none. A body without a content type is read as
 * JSON, because clients that omit the header send JSON.
 *
 * @throws ServiceError `too-large`; `invalid-request` for another content type or encoding; the errors of the reservation;
 *   the reason of the call's abort.
 */
export async function readJsonBody(
  call: Call,
  { bytesMax, reservation }: ReadJsonBodyOptions,
): Promise<Buffer | undefined> {
  const { request } = call;
  const { headers } = request;
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return undefined;
  checkContentEncoding(headers);
  checkContentType(headers['content-type']);
  const length = Number(headers['content-length'] ?? 0);
  if (length > bytesMax) throw createBodyTooLargeError(bytesMax);
  if (length > LARGE_BODY_BYTES) await reservation.reserve(length);
  call.acceptBody();
  const bytes = await readBytes(call, { bytesMax, reservation });
  return bytes.length === 0 ? undefined : bytes;
}

/**
 * Parses the JSON body of a request.
 *
 * @throws ServiceError `invalid-request` for invalid UTF-8, a byte order mark, text that is not JSON, and JSON with too
 * many values, members or levels. The message never quotes the body: it is the caller's prompt.
 */
export function parseJsonBody(bytes: Buffer, depthMax: number): unknown {
  if (!isUtf8(bytes)) throw createInvalidBodyError('it is not valid UTF-8');
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    throw createInvalidBodyError('it starts with a byte order mark');
  switch (findJsonExcess(bytes, { valuesMax: JSON_VALUES_MAX, membersMax: JSON_MEMBERS_MAX, depthMax })) {
    case 'values':
      throw createInvalidBodyError(`it has more than ${JSON_VALUES_MAX} values`);
    case 'members':
      throw createInvalidBodyError(`its objects have more than ${JSON_MEMBERS_MAX} members`);
    case 'depth':
      throw createInvalidBodyError(`it is nested deeper than ${depthMax} levels`);
    case undefined:
      return parseJson(bytes.toString());
  }
}

function checkContentType(type: string | undefined): void {
  if (type === undefined) return;
  const [media = '', ...parameters] = type.toLowerCase().split(';');
  const isJson = media.trim() === 'application/json' || /^\s*[\w.-]+\/[\w.-]+\+json\s*$/.test(media);
  const charset = parameters.find((parameter) => parameter.trim().startsWith('charset='));
  const isUtf8Charset = charset === undefined || /^\s*charset="?utf-?8"?\s*$/.test(charset);
  if (!isJson || !isUtf8Charset) {
    throw new ServiceError('invalid-request', 'Content-Type must be application/json with charset UTF-8.');
  }
}

function readBytes({ request, signal }: Call, { bytesMax, reservation }: ReadJsonBodyOptions): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const hasUnknownLength = request.headers['transfer-encoding'] !== undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  const onData = (chunk: Buffer): void => {
    const sizeBefore = size;
    size += chunk.length;
    if (size > bytesMax) return fail(createBodyTooLargeError(bytesMax));
    chunks.push(chunk);
    if (!hasUnknownLength || size <= LARGE_BODY_BYTES || sizeBefore > LARGE_BODY_BYTES) return;
    request.pause();
    reservation.reserve(bytesMax).then(() => request.resume(), fail);
  };
  const fail = (error: unknown): void => {
    // Discard the rest. If the connection closed now, the client would not read the error response.
    chunks.length = 0;
    request.off('data', onData);
    request.resume();
    reject(error);
  };
  const onAbort = (): void => fail(ServiceError.from(signal.reason));
  const onDisconnect = (): void => reject(createDisconnectError());
  request.on('data', onData);
  request.once('end', () => {
    request.off('close', onDisconnect); // 'close' follows 'end' on every request
    resolve(joinChunks(chunks));
  });
  request.once('error', onDisconnect);
  request.once('close', onDisconnect);
  if (request.destroyed) onDisconnect();
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  return promise.finally(() => signal.removeEventListener('abort', onAbort));
}

/** Joins the chunks of a body, and releases their memory. */
function joinChunks(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks;
  if (chunks.length === 1 && first) return first;
  const bytes = Buffer.concat(chunks);
  for (const chunk of chunks) releaseBytes(chunk);
  return bytes;
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    // No cause: the parser's message quotes the text.
    throw createInvalidBodyError('it is not JSON');
  }
}
