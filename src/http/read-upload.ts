import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../core/error.ts';
import { UPLOAD_FIELD_BYTES_MAX, UPLOAD_FIELDS_MAX, UPLOAD_FILES_MAX, UPLOAD_PART_HEADER_BYTES_MAX } from './limits.ts';
import { parseContentDisposition } from '../lib/content-disposition.ts';
import { MultipartError, parseMultipart, type MultipartPart } from '../lib/multipart.ts';
import { releaseBytes } from '../lib/release-bytes.ts';
import type { UploadPart } from '../protocols/endpoint.ts';
import type { Call } from './call.ts';
import type { HttpLimits } from './http-limits.ts';
import {
  createBodyTooLargeError,
  checkContentEncoding,
  createDisconnectError,
  createInvalidBodyError,
} from './body-errors.ts';

export interface MultipartUpload {
  readonly parts: AsyncIterable<UploadPart>;
  /** Discards the unread rest, so that the client reads the response. */
  finish(): Promise<void>;
}

type UploadOptions = { readonly bytesMax: number | undefined; readonly limits: HttpLimits };

/**
 * Reads the multipart body of a request as a stream; file contents are not buffered.
 *
 * @throws ServiceError `invalid-request` for another content type; `too-large` if `content-length` exceeds `bytesMax`.
 *   `EndpointRequest` documents the errors of `parts`.
 */
export function readUpload(call: Call, { bytesMax = Infinity, limits }: UploadOptions): MultipartUpload {
  const { request } = call;
  const boundary = parseBoundary(request);
  let isFinished = Number(request.headers['content-length'] ?? 0) > bytesMax;
  if (isFinished) throw createBodyTooLargeError(bytesMax);
  const source = readChunks(call, { bytesMax, limits });
  return {
    parts: readParts(source, boundary),
    async finish() {
      if (isFinished || request.readableEnded || request.destroyed) return;
      isFinished = true;
      call.receiveTimeout.start(limits.requestReceiveMs);
      const drained = discardBody(request, bytesMax);
      // The response closes the connection, so the client must have sent everything before it can read the response.
      if (!call.response.shouldKeepAlive) await drained;
    },
  };
}

function parseBoundary({ headers }: IncomingMessage): string {
  checkContentEncoding(headers);
  const [, parameters] = /^\s*multipart\/form-data\s*;(.*)$/is.exec(headers['content-type'] ?? '') ?? [];
  const [, quoted, bare] = /(?:^|;)\s*boundary=(?:"([^"]*)"|([^\s;"]+))/i.exec(parameters ?? '') ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) {
    throw new ServiceError('invalid-request', 'Content-Type must be multipart/form-data with a boundary.');
  }
  return boundary;
}

async function* readParts(source: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<UploadPart> {
  let files = 0;
  let fields = 0;
  try {
    for await (const part of parseMultipart(source, boundary, { headerBytesMax: UPLOAD_PART_HEADER_BYTES_MAX })) {
      const { name, fileName } = parsePartNames(part);
      if (fileName !== undefined) {
        if (++files > UPLOAD_FILES_MAX) throw createInvalidBodyError(`it has more than ${UPLOAD_FILES_MAX} files`);
        yield { type: 'file', name, fileName, bytes: mapFileErrors(part.bytes) };
      } else {
        if (++fields > UPLOAD_FIELDS_MAX) throw createInvalidBodyError(`it has more than ${UPLOAD_FIELDS_MAX} fields`);
        yield { type: 'field', name, value: await readFieldText(part.bytes) };
      }
    }
  } catch (thrown) {
    throw mapMultipartError(thrown);
  }
}

/** Maps the errors of a broken multipart body for the reader of a file. */
async function* mapFileErrors(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } catch (thrown) {
    throw mapMultipartError(thrown);
  }
}

const mapMultipartError = (thrown: unknown): unknown =>
  thrown instanceof MultipartError ? createInvalidBodyError(thrown.message) : thrown;

function parsePartNames({ headers }: MultipartPart): { readonly name: string; readonly fileName: string | undefined } {
  const header = headers.get('content-disposition');
  const disposition = header === undefined ? undefined : parseContentDisposition(header);
  const name = disposition?.parameters.get('name');
  if (disposition?.type !== 'form-data' || name === undefined) throw createInvalidBodyError('a part has no name');
  return { name, fileName: disposition.parameters.get('filename') };
}

async function readFieldText(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bytes) {
    size += piece.byteLength;
    if (size > UPLOAD_FIELD_BYTES_MAX)
      throw createInvalidBodyError(`a field has more than ${UPLOAD_FIELD_BYTES_MAX} bytes`);
    pieces.push(Buffer.from(piece));
  }
  const whole = Buffer.concat(pieces);
  if (!isUtf8(whole)) throw createInvalidBodyError('a field is not valid UTF-8');
  return whole.toString();
}

/** Yields the body. The receive timeout runs while the server waits for bytes and pauses while it processes them. */
async function* readChunks(call: Call, { bytesMax = Infinity, limits }: UploadOptions): AsyncGenerator<Uint8Array> {
  const { request, receiveTimeout, signal } = call;
  let size = 0;
  call.acceptBody();
  try {
    for (;;) {
      signal.throwIfAborted();
      const chunk: Buffer | null = request.read();
      if (chunk === null) {
        if (request.readableEnded) return;
        receiveTimeout.start(limits.uploadStallMs);
        await waitForData(request, signal);
        continue;
      }
      receiveTimeout.pause();
      size += chunk.length;
      if (size > bytesMax) throw createBodyTooLargeError(bytesMax);
      yield chunk;
      releaseBytes(chunk);
    }
  } catch (thrown) {
    throw ServiceError.from(thrown);
  }
}

/** Waits for more data or the end of the body. @throws ServiceError `cancelled`, or the signal's reason. */
function waitForData(request: IncomingMessage, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => (): void => {
      request.off('readable', onData).off('end', onData).off('error', onDisconnect).off('close', onDisconnect);
      signal.removeEventListener('abort', onAbort);
      then();
    };
    const onData = settle(resolve);
    const onDisconnect = settle(() => {
      if (request.readableEnded) resolve();
      else reject(createDisconnectError());
    });
    const onAbort = settle(() => reject(ServiceError.from(signal.reason)));
    if (request.destroyed) return onDisconnect();
    request.once('readable', onData).once('end', onData).once('error', onDisconnect).once('close', onDisconnect);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** Reads and discards up to `bytesMax` bytes; destroys the request beyond. Resolves when nothing is left. */
function discardBody(request: IncomingMessage, bytesMax: number): Promise<void> {
  return new Promise((resolve) => {
    let left = bytesMax;
    request.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) request.destroy();
    });
    request.once('end', resolve).once('close', resolve);
    request.once('error', () => undefined);
    request.resume();
  });
}
