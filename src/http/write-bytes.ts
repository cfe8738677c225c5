import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../core/error.ts';
import { releaseBytes } from '../lib/release-bytes.ts';
import type { BytesReply } from '../protocols/endpoint.ts';
import { FAMILIES } from '../protocols/families.ts';
import type { Call } from './call.ts';
import { createResponseHeaders, writeResponse } from './write-response.ts';

type ByteRange = { readonly start: number; readonly end: number };

/**
 * Writes bytes of known length, all or one range of them, at the speed of the reader. A failure after the head breaks
 * the connection, so the reader receives fewer bytes than `content-length` announces.
 *
 * @throws ServiceError for a failure before the head.
 */
export async function writeBytes(call: Call, reply: BytesReply): Promise<void> {
  const { request, response } = call;
  // RFC 9110, 14.2: only GET has ranges.
  const range = request.method === 'GET' ? parseRange(request, reply) : undefined;
  const headers = { 'accept-ranges': 'bytes', etag: `"${reply.etag}"`, ...reply.headers };
  if (range === 'unsatisfiable') {
    const error = new ServiceError(
      'invalid-request',
      `The Range header starts after the end of the file, which has ${reply.sizeBytes} bytes.`,
    );
    call.error = error;
    const text = JSON.stringify(FAMILIES[call.family].encodeErrorBody(error, call.requestId));
    return writeResponse(call, { status: 416, text, headers: { 'content-range': `bytes */${reply.sizeBytes}` } });
  }
  const length = range ? range.end - range.start + 1 : reply.sizeBytes;
  const source = request.method === 'HEAD' ? undefined : await reply.open(range);
  if (response.destroyed) return void source?.destroy();
  call.markFirstByte();
  response.writeHead(range ? 206 : 200, {
    ...createResponseHeaders(call, { isComplete: true }),
    ...headers,
    'content-length': String(length),
    ...(range ? { 'content-range': `bytes ${range.start}-${range.end}/${reply.sizeBytes}` } : {}),
  });
  if (!source) return void response.end();
  const signal = call.getResponseSignal();
  // Register before the response closes: after that, an error means that the reader disconnected.
  source.once('error', (thrown) => {
    call.error ??= ServiceError.from(signal.aborted ? signal.reason : thrown);
  });
  await pipeline(source, (chunks: AsyncIterable<Uint8Array>) => releaseSentChunks(chunks, response), response, {
    signal,
  }).catch(() => undefined);
}

/** Releases the memory of chunks that the operating system has accepted. */
async function* releaseSentChunks(
  chunks: AsyncIterable<Uint8Array>,
  response: ServerResponse,
): AsyncGenerator<Uint8Array> {
  let unsent: Uint8Array[] = [];
  for await (const chunk of chunks) {
    unsent.push(chunk);
    yield chunk;
    if (response.destroyed || response.writableLength > 0) continue;
    for (const each of unsent) releaseBytes(each);
    unsent = [];
  }
}

/**
 * Parses the Range header. Only a single range is supported; several ranges and invalid values are ignored (RFC 9110,
 * 14.2), as is a range for another version of the bytes (`If-Range`).
 */
function parseRange(
  { headers }: IncomingMessage,
  { sizeBytes, etag }: BytesReply,
): ByteRange | 'unsatisfiable' | undefined {
  const condition = headers['if-range'];
  if (condition !== undefined && condition !== `"${etag}"`) return undefined;
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(headers.range?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  return start > end ? 'unsatisfiable' : { start, end };
}
