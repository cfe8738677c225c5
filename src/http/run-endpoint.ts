import { ServiceError } from '../core/error.ts';
import type { Meter } from '../core/telemetry.ts';
import type { Endpoint, Reply } from '../protocols/endpoint.ts';
import { readJsonBody } from './read-json-body.ts';
import { writeBytes } from './write-bytes.ts';
import type { Call } from './call.ts';
import { createChunkedSink } from './chunked-sink.ts';
import type { HttpLimits } from './http-limits.ts';
import { createResponseHeaders, writeResponse } from './write-response.ts';
import { pumpStream, releaseSource } from './pump-stream.ts';
import { getRequestQuery } from './request-target.ts';
import { readUpload } from './read-upload.ts';
import { raceWithAbort } from '../lib/race-with-abort.ts';

export interface RunEndpointDeps {
  readonly limits: HttpLimits;
  readonly meter: Meter;
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
  { limits, meter }: RunEndpointDeps,
): Promise<void> {
  const { owner, request } = call;
  if (!owner) throw new ServiceError('unauthenticated', '');
  call.cancelsOnDisconnect = endpoint.onDisconnect === 'cancel';
  const isUpload = endpoint.uploadBytesMax !== undefined;
  const upload = isUpload ? readUpload(call, { bytesMax: endpoint.uploadBytesMax, limits }) : undefined;
  const body =
    endpoint.method === 'GET' || isUpload
      ? undefined
      : await readJsonBody(call, { bytesMax: limits.bodyBytesMax, depthMax: limits.jsonDepthMax });

  call.setDeadline(isUpload ? limits.transferMs : limits.deadlinePlainMs);
  const context = { requestId: call.requestId, owner, signal: call.signal, log: call.log };
  const endpointRequest = {
    body,
    params,
    query: getRequestQuery(request),
    headers: singleHeaders(request.headers),
    ...(upload ? { upload: upload.parts } : {}),
  };
  let reply: Reply;
  try {
    reply = await waitForReply(endpoint.handle(endpointRequest, context), call.signal);
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
          createHeaders: head,
        });
        call.error ??= streamError;
      } finally {
        endTracking();
      }
    }
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
