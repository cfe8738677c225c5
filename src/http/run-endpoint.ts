import type { Owner } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { Meter } from '../core/telemetry.ts';
import type { Endpoint, EndpointRequest, Reply } from '../protocols/endpoint.ts';
import { parseJsonBody, readJsonBody } from './read-json-body.ts';
import { releaseBytes } from '../lib/release-bytes.ts';
import { writeBytes } from './write-bytes.ts';
import type { BodyBudget } from './body-budget.ts';
import type { Call } from './call.ts';
import { createChunkedSink } from './chunked-sink.ts';
import type { HttpLimits } from './http-limits.ts';
import { LARGE_BODY_BYTES } from './limits.ts';
import { createResponseHeaders, writeResponse } from './write-response.ts';
import { pumpStream, releaseSource } from './pump-stream.ts';
import { getRequestQuery } from './request-target.ts';
import { readUpload } from './read-upload.ts';
import { raceWithAbort } from '../lib/race-with-abort.ts';

/**
 * Waits until a large body may be parsed. Returns a function to call once the endpoint has started with it.
 * @throws ServiceError `overloaded` or `rate-limited` if too many large bodies wait; the signal's reason.
 */
export type AcquireParseSlot = (owner: Owner, signal: AbortSignal) => Promise<() => void>;

export interface RunEndpointDeps {
  readonly limits: HttpLimits;
  readonly meter: Meter;
  readonly bodyBudget: BodyBudget;
  /** Default: large bodies are parsed at once. */
  readonly acquireParseSlot?: AcquireParseSlot | undefined;
}

/**
 * Runs an endpoint for an authorized call and writes its reply.
 *
 * @throws ServiceError if the request is rejected or fails before the response head is sent.
 */
export async function runEndpoint(
  endpoint: Endpoint,
  call: Call,
  params: Readonly<Record<string, string>>,
  deps: RunEndpointDeps,
): Promise<void> {
  const { limits, meter } = deps;
  call.cancelsOnDisconnect = endpoint.onDisconnect === 'cancel';
  const isUpload = endpoint.uploadBytesMax !== undefined;
  const upload = isUpload ? readUpload(call, { bytesMax: endpoint.uploadBytesMax, limits }) : undefined;
  let reply: Reply;
  try {
    reply = await callEndpoint(endpoint, call, { params, ...(upload ? { upload: upload.parts } : {}) }, deps);
  } finally {
    await upload?.finish();
  }

  switch (reply.type) {
    case 'json':
      writeResponse(call, { status: reply.status, text: JSON.stringify(reply.body), headers: reply.headers ?? {} });
      return;
    case 'bytes':
      call.setDeadline(limits.transferMs);
      await writeBytes(call, reply);
      return;
    case 'stream': {
      call.setDeadline(limits.deadlineStreamMs);
      const endTracking = meter.trackStream();
      const head = (): Readonly<Record<string, string>> => {
        call.markFirstByte();
        // Proxies that buffer responses would delay the stream (docs/wire/clients.md#client-pitfalls).
        return {
          ...createResponseHeaders(call, { isComplete: false }),
          'x-accel-buffering': 'no',
          ...reply.headers,
          ...reply.getLateHeaders?.(),
        };
      };
      try {
        const streamError = await pumpStream(createChunkedSink(call.response), reply, {
          signal: call.getResponseSignal(),
          keepAliveMs: limits.keepAliveMs,
          readerStallMs: limits.readerStallMs,
          createHeaders: head,
        });
        call.error ??= streamError;
      } finally {
        endTracking();
      }
    }
  }
}

/** Reads the body, if there is one, and calls the endpoint. The bytes are not kept while the endpoint works. */
async function callEndpoint(
  endpoint: Endpoint,
  call: Call,
  { params, upload }: Pick<EndpointRequest, 'params' | 'upload'>,
  { limits, bodyBudget, acquireParseSlot }: RunEndpointDeps,
): Promise<Reply> {
  const { requestId, owner, request, signal, log } = call;
  if (!owner) throw new ServiceError('unauthenticated', '');
  const reservation = bodyBudget.open(call);
  let releaseParseSlot: (() => void) | undefined;
  try {
    const hasJsonBody = endpoint.method !== 'GET' && !upload;
    const bytes = hasJsonBody ? await readJsonBody(call, { bytesMax: limits.bodyBytesMax, reservation }) : undefined;
    call.setDeadline(upload ? limits.transferMs : limits.deadlinePlainMs);
    const isLarge = bytes !== undefined && bytes.length > LARGE_BODY_BYTES;
    if (isLarge) releaseParseSlot = await acquireParseSlot?.(owner, signal);
    const body = bytes && parseJsonBody(bytes, limits.jsonDepthMax);
    if (isLarge) releaseBytes(bytes);
    const endpointRequest = {
      body,
      params,
      query: getRequestQuery(request),
      headers: singleHeaders(request.headers),
      ...(upload ? { upload } : {}),
    };
    return waitForReply(endpoint.handle(endpointRequest, { requestId, owner, signal, log }), signal);
  } finally {
    releaseParseSlot?.();
    reservation.release();
  }
}

/** Waits for the reply until the signal aborts. Releases a stream reply that arrives later. */
function waitForReply(work: Promise<Reply>, signal: AbortSignal): Promise<Reply> {
  const releaseLate = (reply: Reply): void => {
    if (signal.aborted && reply.type === 'stream') void releaseSource(reply.batches[Symbol.asyncIterator]());
  };
  void work.then(releaseLate, () => undefined);
  return raceWithAbort(work, signal, ({ reason }) => ServiceError.from(reason));
}

function singleHeaders(headers: NodeJS.Dict<string | string[]>): Readonly<Record<string, string | undefined>> {
  const single: Record<string, string | undefined> = {};
  for (const name in headers) {
    const value = headers[name];
    single[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return single;
}
