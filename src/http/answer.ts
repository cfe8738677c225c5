import { ServiceError } from '../core/error.ts';
import type { Meter } from '../core/telemetry.ts';
import type { Endpoint, Reply } from '../protocols/endpoint.ts';
import { readJson } from './body.ts';
import { writeBytes } from './bytes.ts';
import type { Call } from './call.ts';
import { chunkedSink } from './chunked-sink.ts';
import type { HttpLimits } from './limits.ts';
import { headOf, write } from './reply.ts';
import { pump, release } from './stream.ts';
import { queryOf } from './target.ts';
import { readUpload } from './upload.ts';

export interface AnswerNeeds {
  readonly limits: HttpLimits;
  readonly meter: Meter;
}

/**
 * Runs an endpoint for a call that may have it, and says what it wants said.
 *
 * @throws ServiceError what was refused or failed before any head.
 */
export async function answer(
  endpoint: Endpoint,
  call: Call,
  params: Readonly<Record<string, string>>,
  { limits, meter }: AnswerNeeds,
): Promise<void> {
  const { owner, request } = call;
  if (!owner) throw new ServiceError('unauthenticated', '');
  call.cancelsOnLeave = endpoint.onDisconnect === 'cancel';
  const isUpload = endpoint.uploadBytesMax !== undefined;
  const upload = isUpload ? readUpload(call, { bytesMax: endpoint.uploadBytesMax, limits }) : undefined;
  const body =
    endpoint.method === 'GET' || isUpload
      ? undefined
      : await readJson(call, { bytesMax: limits.bodyBytesMax, depthMax: limits.jsonDepthMax });

  call.setDeadline(isUpload ? limits.transferMs : limits.deadlinePlainMs);
  const context = { requestId: call.requestId, owner, signal: call.signal, log: call.log };
  const asked = {
    body,
    params,
    query: queryOf(request),
    headers: singleHeaders(request.headers),
    ...(upload ? { upload: upload.parts } : {}),
  };
  let reply: Reply;
  try {
    reply = await unlessAborted(endpoint.handle(asked, context), call.signal);
  } finally {
    await upload?.end();
  }

  switch (reply.type) {
    case 'json':
      write(call, { status: reply.status, text: JSON.stringify(reply.body), headers: reply.headers ?? {} });
      return;
    case 'bytes':
      call.setDeadline(limits.transferMs);
      await writeBytes(call, reply);
      return;
    case 'stream': {
      call.setDeadline(limits.deadlineStreamMs);
      const closed = meter.streamOpened();
      const head = (): Readonly<Record<string, string>> => {
        call.markFirstByte();
        // Proxies that buffer would hold the stream back (wire.md section 11, 39).
        return { ...headOf(call, { isComplete: false }), 'x-accel-buffering': 'no', ...reply.headers };
      };
      try {
        const broken = await pump(chunkedSink(call.response), reply, {
          gone: call.gone(),
          keepAliveMs: limits.keepAliveMs,
          head,
        });
        call.error ??= broken;
      } finally {
        closed();
      }
    }
  }
}

/** What comes after the abort is nobody's any more: a stream is let go of, a failure was told by its maker. */
function unlessAborted(work: Promise<Reply>, signal: AbortSignal): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(ServiceError.from(signal.reason));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then((reply) => {
      signal.removeEventListener('abort', onAbort);
      if (signal.aborted && reply.type === 'stream') void release(reply.batches[Symbol.asyncIterator]());
      resolve(reply);
    }, reject);
  });
}

function singleHeaders(headers: NodeJS.Dict<string | string[]>): Readonly<Record<string, string | undefined>> {
  const single: Record<string, string | undefined> = {};
  for (const name in headers) {
    const value = headers[name];
    single[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return single;
}
