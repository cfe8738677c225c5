import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../core/error.ts';
import { releaseBytes } from '../lib/release-bytes.ts';
import type { BytesReply } from '../protocols/endpoint.ts';
import { FAMILIES } from '../protocols/families.ts';
import type { Call } from './call.ts';
import { headOf, write } from './reply.ts';

type Range = { readonly start: number; readonly end: number };

/**
 * Bytes with a known length, all or one range of them, at the reader's pace. What breaks off after the head breaks the
 * connection: the reader has fewer bytes than were announced.
 *
 * @throws ServiceError what failed before the head.
 */
export async function writeBytes(call: Call, reply: BytesReply): Promise<void> {
  const { request, response } = call;
  // RFC 9110, 14.2: ranges are of GET alone.
  const range = request.method === 'GET' ? rangeOf(request, reply) : undefined;
  const headers = { 'accept-ranges': 'bytes', etag: `"${reply.tag}"`, ...reply.headers };
  if (range === 'beyond') {
    const error = new ServiceError(
      'invalid-request',
      `The range lies behind the end: there are ${reply.sizeBytes} bytes.`,
    );
    call.error = error;
    const text = JSON.stringify(FAMILIES[call.family].errorBody(error, call.requestId));
    return write(call, { status: 416, text, headers: { 'content-range': `bytes */${reply.sizeBytes}` } });
  }
  const length = range ? range.end - range.start + 1 : reply.sizeBytes;
  const source = request.method === 'HEAD' ? undefined : await reply.open(range);
  if (response.destroyed) return void source?.destroy();
  call.markFirstByte();
  response.writeHead(range ? 206 : 200, {
    ...headOf(call, { isComplete: true }),
    ...headers,
    'content-length': String(length),
    ...(range ? { 'content-range': `bytes ${range.start}-${range.end}/${reply.sizeBytes}` } : {}),
  });
  if (!source) return void response.end();
  const gone = call.gone();
  // Before the response closes: from then on it is the reader who left.
  source.once('error', (thrown) => {
    call.error ??= ServiceError.from(gone.aborted ? gone.reason : thrown);
  });
  await pipeline(source, (chunks: AsyncIterable<Uint8Array>) => releasing(chunks, response), response, {
    signal: gone,
  }).catch(() => undefined);
}

/** What the system has taken is needed no longer. */
async function* releasing(chunks: AsyncIterable<Uint8Array>, response: ServerResponse): AsyncGenerator<Uint8Array> {
  let given: Uint8Array[] = [];
  for await (const chunk of chunks) {
    given.push(chunk);
    yield chunk;
    if (response.destroyed || response.writableLength > 0) continue;
    for (const each of given) releaseBytes(each);
    given = [];
  }
}

/**
 * RFC 9110, 14.2: one range is honoured; several, and what cannot be read, are as if nothing was asked for. So is a range
 * of bytes that were others (`If-Range`).
 */
function rangeOf({ headers }: IncomingMessage, { sizeBytes, tag }: BytesReply): Range | 'beyond' | undefined {
  const condition = headers['if-range'];
  if (condition !== undefined && condition !== `"${tag}"`) return undefined;
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(headers.range?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  return start > end ? 'beyond' : { start, end };
}
