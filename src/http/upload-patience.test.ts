import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Call } from './call.ts';
import { HTTP_LIMITS } from './limits.ts';
import { createPatience } from './patience.ts';
import { readUpload } from './upload.ts';

/** A request that has come in as far as was pushed. */
function requestOf(): IncomingMessage {
  const headers = { 'content-type': 'multipart/form-data; boundary=b', 'transfer-encoding': 'chunked' };
  return Object.assign(new Readable({ read: () => undefined }), {
    headers,
    complete: false,
  }) as unknown as IncomingMessage;
}

describe('patience with a sender', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('is over after its time, which begins anew with each wait', () => {
    const over = mock.fn();
    const patience = createPatience(requestOf(), over);
    for (const ms of [100, 50]) {
      patience.wait(ms);
      mock.timers.tick(ms - 1);
    }
    assert.equal(over.mock.callCount(), 0);
    mock.timers.tick(1);
    assert.equal(over.mock.callCount(), 1);
  });

  it('has no end while it is us who are waited for', () => {
    const over = mock.fn();
    const patience = createPatience(requestOf(), over);
    patience.wait(100);
    patience.rest();
    mock.timers.tick(1_000);
    assert.equal(over.mock.callCount(), 0);
  });

  it('is not lost with one who has sent everything', () => {
    const over = mock.fn();
    const request = requestOf();
    createPatience(request, over).wait(100);
    request.complete = true;
    mock.timers.tick(1_000);
    assert.equal(over.mock.callCount(), 0);
  });
});

describe('an upload and the patience with its sender', () => {
  const limits = { ...HTTP_LIMITS, uploadStallMs: 7, requestReceiveMs: 77 };
  const head = '--b\r\ncontent-disposition: form-data; name="f"; filename="f"\r\n\r\n';

  function begin({ bytesMax, shouldKeepAlive = false }: { bytesMax: number; shouldKeepAlive?: boolean }) {
    const request = requestOf();
    const said: (number | 'rest')[] = [];
    const patience = { wait: (ms: number) => void said.push(ms), rest: () => void said.push('rest') };
    const { signal } = new AbortController();
    const call = { request, response: { shouldKeepAlive }, patience, signal, wantBody: () => undefined };
    return { request, said, upload: readUpload(call as unknown as Call, { bytesMax, limits }) };
  }

  it('waits for the next bytes, and rests while the last ones are worked on', async () => {
    const { request, said, upload } = begin({ bytesMax: 1_000 });
    const parts = upload.parts[Symbol.asyncIterator]();
    const first = parts.next();
    await turn();
    assert.deepEqual(said, [7]);
    request.push(`${head}0123456789`);
    const { value: part } = await first;
    assert.equal(said.at(-1), 'rest');
    assert.equal(part?.type, 'file');
  });

  it('reads what nobody wants to its end before the connection goes with the answer, and for no longer than a request may take', async () => {
    const { request, said, upload } = begin({ bytesMax: 1_000 });
    let isEnded = false;
    const ended = upload.end().then(() => (isEnded = true));
    assert.deepEqual(said, [77]);
    request.push(Buffer.alloc(900));
    await turn();
    assert.equal(isEnded, false);
    request.push(null);
    await ended;
    assert.equal(request.readableEnded, true);
  });

  it('keeps nobody waiting for that where the connection stays', async () => {
    const { request, upload } = begin({ bytesMax: 1_000, shouldKeepAlive: true });
    await upload.end();
    request.push(Buffer.alloc(900));
    await turn();
    assert.equal(request.readableLength, 0, 'it is read all the same');
  });

  it('ends the connection of one who sends more than may come to nobody', async () => {
    const { request, upload } = begin({ bytesMax: 1_000 });
    const ended = upload.end();
    request.push(Buffer.alloc(1_000));
    await turn();
    assert.equal(request.destroyed, false);
    request.push(Buffer.alloc(1));
    await turn();
    assert.equal(request.destroyed, true);
    await ended;
  });
});
