import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Call } from './call.ts';
import { HTTP_LIMITS } from './http-limits.ts';
import { createReceiveTimeout } from './receive-timeout.ts';
import { readUpload } from './read-upload.ts';

/** Creates a request whose body consists of the bytes pushed so far. */
function createTestRequest(): IncomingMessage {
  const headers = { 'content-type': 'multipart/form-data; boundary=b', 'transfer-encoding': 'chunked' };
  return Object.assign(new Readable({ read: () => undefined }), {
    headers,
    complete: false,
  }) as unknown as IncomingMessage;
}

describe('receive timeout', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('fires after its duration, which restarts with each start', () => {
    const onTimeout = mock.fn();
    const timeout = createReceiveTimeout(createTestRequest(), onTimeout);
    for (const ms of [100, 50]) {
      timeout.start(ms);
      mock.timers.tick(ms - 1);
    }
    assert.equal(onTimeout.mock.callCount(), 0);
    mock.timers.tick(1);
    assert.equal(onTimeout.mock.callCount(), 1);
  });

  it('does not fire while paused', () => {
    const onTimeout = mock.fn();
    const timeout = createReceiveTimeout(createTestRequest(), onTimeout);
    timeout.start(100);
    timeout.pause();
    mock.timers.tick(1_000);
    assert.equal(onTimeout.mock.callCount(), 0);
  });

  it('does not fire after the body is complete', () => {
    const onTimeout = mock.fn();
    const request = createTestRequest();
    createReceiveTimeout(request, onTimeout).start(100);
    request.complete = true;
    mock.timers.tick(1_000);
    assert.equal(onTimeout.mock.callCount(), 0);
  });
});

describe('receive timeout of an upload', () => {
  const limits = { ...HTTP_LIMITS, uploadStallMs: 7, requestReceiveMs: 77 };
  const head = '--b\r\ncontent-disposition: form-data; name="f"; filename="f"\r\n\r\n';

  function startUpload({ bytesMax, shouldKeepAlive = false }: { bytesMax: number; shouldKeepAlive?: boolean }) {
    const request = createTestRequest();
    const calls: (number | 'pause')[] = [];
    const receiveTimeout = { start: (ms: number) => void calls.push(ms), pause: () => void calls.push('pause') };
    const { signal } = new AbortController();
    const call = { request, response: { shouldKeepAlive }, receiveTimeout, signal, acceptBody: () => undefined };
    return { request, calls, upload: readUpload(call as unknown as Call, { bytesMax, limits }) };
  }

  it('runs while the server waits for bytes and pauses while it processes them', async () => {
    const { request, calls, upload } = startUpload({ bytesMax: 1_000 });
    const parts = upload.parts[Symbol.asyncIterator]();
    const first = parts.next();
    await yieldToEventLoop();
    assert.deepEqual(calls, [7]);
    request.push(`${head}0123456789`);
    const { value: part } = await first;
    assert.equal(calls.at(-1), 'pause');
    assert.equal(part?.type, 'file');
  });

  it('discards the unread rest within the request timeout before the response closes the connection', async () => {
    const { request, calls, upload } = startUpload({ bytesMax: 1_000 });
    let isFinished = false;
    const finished = upload.finish().then(() => (isFinished = true));
    assert.deepEqual(calls, [77]);
    request.push(Buffer.alloc(900));
    await yieldToEventLoop();
    assert.equal(isFinished, false);
    request.push(null);
    await finished;
    assert.equal(request.readableEnded, true);
  });

  it('does not wait for the rest if the connection stays open', async () => {
    const { request, upload } = startUpload({ bytesMax: 1_000, shouldKeepAlive: true });
    await upload.finish();
    request.push(Buffer.alloc(900));
    await yieldToEventLoop();
    assert.equal(request.readableLength, 0, 'the rest is still discarded');
  });

  it('destroys the connection if the discarded rest exceeds the limit', async () => {
    const { request, upload } = startUpload({ bytesMax: 1_000 });
    const finished = upload.finish();
    request.push(Buffer.alloc(1_000));
    await yieldToEventLoop();
    assert.equal(request.destroyed, false);
    request.push(Buffer.alloc(1));
    await yieldToEventLoop();
    assert.equal(request.destroyed, true);
    await finished;
  });
});
