import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../core/error.ts';
import {
  UPLOAD_FIELD_BYTES_MAX,
  UPLOAD_FIELDS_MAX,
  UPLOAD_FILES_MAX,
  UPLOAD_PART_HEADER_BYTES_MAX,
} from '../core/limits.ts';
import { readDisposition } from '../lib/content-disposition.ts';
import { MultipartError, readParts } from '../lib/multipart.ts';
import type { Part } from '../lib/multipart.ts';
import { releaseBytes } from '../lib/release-bytes.ts';
import type { UploadPart } from '../protocols/endpoint.ts';
import type { Call } from './call.ts';
import type { HttpLimits } from './limits.ts';

export interface Upload {
  readonly parts: AsyncIterable<UploadPart>;
  /** Nobody reads it any more: what still comes is thrown away, so that its sender sees the answer. */
  end(): Promise<void>;
}

type Wish = { readonly bytesMax: number | undefined; readonly limits: HttpLimits };

/**
 * The multipart body of a request, read as it comes in: nothing of a file is gathered.
 *
 * @throws ServiceError `invalid-request` for another content type; `too-large` where more is announced than may come. What
 * `parts` throws stands in `EndpointRequest`.
 */
export function readUpload(call: Call, { bytesMax = Infinity, limits }: Wish): Upload {
  const { request } = call;
  const boundary = boundaryOf(request);
  let isOver = Number(request.headers['content-length'] ?? 0) > bytesMax;
  if (isOver) throw tooLarge(bytesMax);
  const source = bytesOf(call, { bytesMax, limits });
  return {
    parts: partsOf(source, boundary),
    async end() {
      if (isOver || request.readableEnded || request.destroyed) return;
      isOver = true;
      call.patience.wait(limits.requestReceiveMs);
      const drained = drain(request, bytesMax);
      // Where the connection ends with the answer, it would end before its sender has read it.
      if (!call.response.shouldKeepAlive) await drained;
    },
  };
}

const invalid = (why: string): ServiceError =>
  new ServiceError('invalid-request', `Required body invalid, please check the request body format. (body: ${why})`);

const tooLarge = (bytesMax: number): ServiceError =>
  new ServiceError('too-large', `The body may have at most ${bytesMax} bytes.`);

function boundaryOf({ headers }: IncomingMessage): string {
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity') {
    throw new ServiceError('invalid-request', 'Content-Encoding must be identity: compressed bodies are not taken.');
  }
  const [, parameters] = /^\s*multipart\/form-data\s*;(.*)$/is.exec(headers['content-type'] ?? '') ?? [];
  const [, quoted, bare] = /(?:^|;)\s*boundary=(?:"([^"]*)"|([^\s;"]+))/i.exec(parameters ?? '') ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) {
    throw new ServiceError('invalid-request', 'Content-Type must be multipart/form-data, with a boundary.');
  }
  return boundary;
}

async function* partsOf(source: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<UploadPart> {
  let files = 0;
  let fields = 0;
  try {
    for await (const part of readParts(source, boundary, { headerBytesMax: UPLOAD_PART_HEADER_BYTES_MAX })) {
      const { name, fileName } = namesOf(part);
      if (fileName !== undefined) {
        if (++files > UPLOAD_FILES_MAX) throw invalid(`it has more than ${UPLOAD_FILES_MAX} files`);
        yield { type: 'file', name, fileName, bytes: translated(part.bytes) };
      } else {
        if (++fields > UPLOAD_FIELDS_MAX) throw invalid(`it has more than ${UPLOAD_FIELDS_MAX} fields`);
        yield { type: 'field', name, value: await textOf(part.bytes) };
      }
    }
  } catch (thrown) {
    throw inOurWords(thrown);
  }
}

/** Whoever reads a file hears of a broken body there. */
async function* translated(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } catch (thrown) {
    throw inOurWords(thrown);
  }
}

const inOurWords = (thrown: unknown): unknown => (thrown instanceof MultipartError ? invalid(thrown.message) : thrown);

function namesOf({ headers }: Part): { readonly name: string; readonly fileName: string | undefined } {
  const header = headers.get('content-disposition');
  const disposition = header === undefined ? undefined : readDisposition(header);
  const name = disposition?.parameters.get('name');
  if (disposition?.type !== 'form-data' || name === undefined) throw invalid('a part of it has no name');
  return { name, fileName: disposition.parameters.get('filename') };
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bytes) {
    size += piece.byteLength;
    if (size > UPLOAD_FIELD_BYTES_MAX) throw invalid(`a field of it has more than ${UPLOAD_FIELD_BYTES_MAX} bytes`);
    pieces.push(Buffer.from(piece));
  }
  const whole = Buffer.concat(pieces);
  if (!isUtf8(whole)) throw invalid('a field of it is not valid UTF-8');
  return whole.toString();
}

/** The sender is waited for as long as he sends anything; while we are busy, he waits for us. */
async function* bytesOf(call: Call, { bytesMax = Infinity, limits }: Wish): AsyncGenerator<Uint8Array> {
  const { request, patience, signal } = call;
  let size = 0;
  call.wantBody();
  try {
    for (;;) {
      signal.throwIfAborted();
      const chunk: Buffer | null = request.read();
      if (chunk === null) {
        if (request.readableEnded) return;
        patience.wait(limits.uploadStallMs);
        await moreOf(request, signal);
        continue;
      }
      patience.rest();
      size += chunk.length;
      if (size > bytesMax) throw tooLarge(bytesMax);
      yield chunk;
      releaseBytes(chunk);
    }
  } catch (thrown) {
    throw ServiceError.from(thrown);
  }
}

/** Resolves when there may be more to read, or nothing more. @throws ServiceError `cancelled`; the signal's reason. */
function moreOf(request: IncomingMessage, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => (): void => {
      request.off('readable', onMore).off('end', onMore).off('error', onLeave).off('close', onLeave);
      signal.removeEventListener('abort', onAbort);
      then();
    };
    const onMore = settle(resolve);
    const onLeave = settle(() => {
      if (request.readableEnded) resolve();
      else reject(new ServiceError('cancelled', 'The caller left before its request was complete.'));
    });
    const onAbort = settle(() => reject(ServiceError.from(signal.reason)));
    if (request.destroyed) return onLeave();
    request.once('readable', onMore).once('end', onMore).once('error', onLeave).once('close', onLeave);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** Reads and throws away, up to so many bytes more: beyond, the connection ends. Resolves when there is nothing left. */
function drain(request: IncomingMessage, bytesMax: number): Promise<void> {
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
