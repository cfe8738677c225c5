import assert from 'node:assert/strict';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { test } from 'node:test';
import { ServiceError } from '../core/error.ts';
import type { GenerationEvent } from '../core/event.ts';
import { KEEP_ALIVE_MS } from '../core/limits.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import type { Generate } from '../generation/generation.ts';
import { STREAM_READ_BYTES_PER_SECOND_MIN, STREAM_SLICE_CHARS } from './limits.ts';
import { pumpStream } from './pump-stream.ts';
import {
  END_EVENTS,
  BLOCK_START_EVENT,
  START_EVENT,
  chatRequest,
  connectRaw,
  toAsyncIterable,
  createTextDelta,
  createScriptedGenerate,
  startTestHttp,
} from './__fixtures__/test-http.ts';

type Batch = readonly GenerationEvent[];

/**
 * Creates a source that yields `first`, then stays silent despite its signal. `returned` resolves when it is released.
 */
function silentAfter(first: readonly Batch[]): { readonly generate: Generate; readonly returned: Promise<number> } {
  const { promise: returned, resolve } = Promise.withResolvers<number>();
  const generate: Generate = () => {
    const batches = [...first];
    const next = (): Promise<IteratorResult<Batch>> => {
      const value = batches.shift();
      return value ? Promise.resolve({ done: false, value }) : new Promise(() => undefined);
    };
    const stop = (): Promise<IteratorResult<Batch>> => {
      resolve(performance.now());
      return Promise.resolve({ done: true, value: undefined });
    };
    return Promise.resolve({ batches: { [Symbol.asyncIterator]: () => ({ next, return: stop }) }, ignored: [] });
  };
  return { generate, returned };
}

const data = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice(6));

const contents = (text: string): string =>
  data(text)
    .filter((line) => line.startsWith('{"choices":[{'))
    .map((line) => (JSON.parse(line) as { choices: [{ delta: { content: string } }] }).choices[0].delta.content)
    .join('');

test('sends the head, frames and end mark that the protocol prescribes', async () => {
  await using server = await startTestHttp();
  const response = await server.chat({ stream: true, stream_options: { include_usage: true } });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/event-stream;charset=UTF-8');
  assert.equal(response.headers.get('cache-control'), 'no-cache');
  const id = response.headers.get('x-request-id') ?? '';
  const text = await response.text();
  const frames = data(text);
  assert.equal(frames.length, 6); // role, two deltas, finish, usage, end mark
  assert.equal(text, frames.map((frame) => `data: ${frame}\n\n`).join(''));
  assert.equal(frames.at(-1), '[DONE]');
  assert.equal(contents(text), 'Hello');
  for (const frame of frames.slice(0, -1))
    assert.ok(frame.endsWith(`"model":"svc-plus","id":"chatcmpl-${id}"}`), frame);
});

test('sends a response without streaming as one object, with its id in the header', async () => {
  await using server = await startTestHttp();
  const response = await server.chat({ user: 'me', search_options: { forced_search: true } });
  const body = (await response.json()) as { id: string; choices: { message: { content: string } }[] };
  assert.equal(body.choices[0]?.message.content, 'Hello');
  assert.equal(body.id, `chatcmpl-${response.headers.get('x-request-id')}`);
  assert.equal(response.headers.get('x-parley-ignored'), 'user,search_options.forced_search');
});

test('logs and measures a stream with its metadata and without its text', async () => {
  await using server = await startTestHttp();
  await (await server.chat({ stream: true })).text();
  while (server.logLines.length === 0) await yieldToEventLoop();
  const [line] = server.logLines;
  assert.equal(server.logLines.length, 1);
  assert.deepEqual(
    [
      line?.['operation'],
      line?.['status'],
      line?.['kind'],
      line?.['requestedModel'],
      line?.['completionTokens'],
      line?.['keyId'],
    ],
    ['chat-completions.create', 200, 'none', 'svc-plus', 2, 'key_1'],
  );
  assert.ok(Number(line?.['firstByteMs']) <= Number(line?.['durationMs']));
  assert.equal(server.measurements[0]?.promptTokens, 3);
  assert.ok(!JSON.stringify(server.logLines).includes('Hello'));
});

test('limits the Retry-After header', async () => {
  const generate: Generate = () =>
    Promise.reject(new ServiceError('overloaded', 'Full.', { retryAfterSeconds: 3_600 }));
  await using server = await startTestHttp({ generate });
  assert.equal((await server.chat({})).headers.get('retry-after'), '60');
});

test('answers a failure before the first event with its status', async () => {
  const generate: Generate = () => Promise.reject(new ServiceError('overloaded', 'Full.', { retryAfterSeconds: 7 }));
  await using server = await startTestHttp({ generate });
  const refused = await server.chat({ stream: true });
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get('retry-after'), '7');
  assert.equal(refused.headers.get('content-type'), 'application/json');
  const broken = (async function* () {
    yield [START_EVENT];
    throw new ServiceError('engine-failed', 'It crashed.');
  })();
  await using second = await startTestHttp({ generate: () => Promise.resolve({ batches: broken, ignored: [] }) });
  assert.equal((await second.chat({ stream: true })).status, 500);
});

test('sends a failure after the head as an error frame without the end mark', async () => {
  for (const [stream, kind] of [
    [[START_EVENT, BLOCK_START_EVENT, createTextDelta('Hel')], 'engine-failed'], // stops without an end
    [[START_EVENT, BLOCK_START_EVENT, createTextDelta('Hel'), new Error('secret detail')], 'internal'],
  ] as const) {
    const generate: Generate = () => {
      const batches = (async function* () {
        for (const event of stream) {
          if (event instanceof Error) throw event;
          yield [event];
        }
      })();
      return Promise.resolve({ batches, ignored: [] });
    };
    await using server = await startTestHttp({ generate });
    const text = await (await server.chat({ stream: true })).text();
    assert.match(data(text).at(-1) ?? '', /^\{"error":\{"message":"An internal error has occured.*"request_id":"/);
    assert.ok(!text.includes('[DONE]') && !text.includes('secret detail'));
    while (server.logLines.length === 0) await yieldToEventLoop();
    assert.deepEqual(
      [server.logLines[0]?.['status'], server.logLines[0]?.['kind'], server.logLines[0]?.['level']],
      [200, kind, 'error'],
    );
  }
});

test('answers an incomplete generation without streaming with an error', async () => {
  await using server = await startTestHttp({
    generate: createScriptedGenerate([START_EVENT, BLOCK_START_EVENT, createTextDelta('Hel')]),
  });
  assert.equal((await server.chat()).status, 500);
});

test('sends keep-alive comments while the source is silent, also before the first event', async () => {
  const { promise: go, resolve } = Promise.withResolvers<void>();
  const generate: Generate = () => {
    const batches = (async function* () {
      await go;
      yield [START_EVENT, BLOCK_START_EVENT, createTextDelta('late'), ...END_EVENTS];
    })();
    return Promise.resolve({ batches, ignored: [] });
  };
  await using server = await startTestHttp({ generate, limits: { keepAliveMs: 5 } });
  using peer = connectRaw(server.port, chatRequest());
  const silent = await peer.readUntil(':keep-alive\n\n\r\n');
  assert.match(silent, /^HTTP\/1\.1 200 OK/);
  assert.ok(!silent.includes('data:'));
  resolve();
  const text = await peer.readUntil('[DONE]');
  assert.equal(contents(text), 'late');
});

test('sends nothing while a request waits for admission, so that it can still be rejected with a status', async () => {
  const { promise: admitted, reject } = Promise.withResolvers<never>();
  await using server = await startTestHttp({ generate: () => admitted, limits: { keepAliveMs: 1 } });
  const answer = server.chat({ stream: true });
  while (server.http.countInFlight() === 0) await yieldToEventLoop();
  for (let turns = 0; turns < 50; turns++) await yieldToEventLoop();
  reject(new ServiceError('overloaded', 'Waited too long.'));
  assert.equal((await answer).status, 503);
});

test('releases the source at once when the client disconnects from a silent stream', async () => {
  const { generate, returned } = silentAfter([[START_EVENT, BLOCK_START_EVENT, createTextDelta('Hel')]]);
  let signal: AbortSignal | undefined;
  await using server = await startTestHttp({
    generate: (request, on, context) => {
      signal = context.signal;
      return generate(request, on, context);
    },
  });
  using peer = connectRaw(server.port, chatRequest());
  await peer.readUntil('Hel');
  const disconnectedAt = performance.now();
  peer.socket.destroy();
  // Well before the next keep-alive, whose failed write would reveal the disconnect too.
  assert.ok((await returned) - disconnectedAt < KEEP_ALIVE_MS / 2);
  assert.equal(signal?.aborted, true);
  while (server.logLines.length === 0) await yieldToEventLoop();
  assert.deepEqual([server.logLines[0]?.['kind'], server.logLines[0]?.['level']], ['cancelled', 'info']);
});

test('aborts the work when the client disconnects before the first byte', async () => {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const generate: Generate = (_request, _on, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        resolve();
        reject(ServiceError.from(signal.reason));
      });
    });
  await using server = await startTestHttp({ generate });
  using peer = connectRaw(server.port, chatRequest());
  while (server.http.countInFlight() === 0) await yieldToEventLoop();
  peer.socket.destroy();
  await aborted;
  while (server.http.countInFlight() > 0) await yieldToEventLoop();
  assert.deepEqual([server.logLines[0]?.['status'], server.logLines[0]?.['kind']], [499, 'cancelled']);
});

test('releases a stream that starts after the client disconnected', async () => {
  const { generate, returned } = silentAfter([]);
  const { promise: go, resolve } = Promise.withResolvers<void>();
  await using server = await startTestHttp({
    generate: async (request, on, context) => {
      await go; // ignores its signal
      return generate(request, on, context);
    },
  });
  using peer = connectRaw(server.port, chatRequest());
  while (server.http.countInFlight() === 0) await yieldToEventLoop();
  peer.socket.destroy();
  while (server.http.countInFlight() > 0) await yieldToEventLoop();
  resolve();
  await returned;
});

test('stops pulling from the engine when the client stops reading, and releases the source on disconnect', async () => {
  const piece = 'x'.repeat(16_384);
  let pulled = 0;
  const { promise: returned, resolve } = Promise.withResolvers<void>();
  const generate: Generate = () => {
    const batches = {
      [Symbol.asyncIterator]: () => ({
        next: () =>
          Promise.resolve({
            done: false as const,
            value: pulled++ === 0 ? [START_EVENT, BLOCK_START_EVENT] : [createTextDelta(piece)],
          }),
        return: () => {
          resolve();
          return Promise.resolve({ done: true as const, value: undefined });
        },
      }),
    };
    return Promise.resolve({ batches, ignored: [] });
  };
  await using server = await startTestHttp({ generate, limits: { keepAliveMs: 1 } });
  using peer = connectRaw(server.port, chatRequest());
  peer.socket.pause();
  let before = -1;
  for (let still = 0; still < 500; still = pulled === before && pulled > 0 ? still + 1 : 0) {
    before = pulled;
    await yieldToEventLoop();
  }
  // Only what the kernel buffers of both ends hold: the source itself is endless.
  assert.ok(pulled * piece.length < 32 * 1024 * 1024, `${pulled} pieces`);
  peer.socket.destroy();
  await returned;
});

test('cuts a client that does not read its response, but not one that waits for it', { timeout: 20_000 }, async () => {
  const big = 'x'.repeat(16 * 1024 * 1024);
  const { promise: go, resolve } = Promise.withResolvers<void>();
  const answers = (path: string, text: () => Promise<string>): Endpoint => ({
    operation: 'test.big',
    method: 'GET',
    path: `/compatible-mode/v1/${path}`,
    family: 'compatible',
    regions: ['cn-beijing'],
    onDisconnect: 'cancel',
    handle: async () => ({ type: 'json', status: 200, body: await text() }),
  });
  const late = answers('late', async () => {
    await go;
    return 'late';
  });
  await using server = await startTestHttp({
    generate: createScriptedGenerate([START_EVENT, BLOCK_START_EVENT], [createTextDelta(big)], END_EVENTS),
    more: [answers('big', () => Promise.resolve(big)), late],
    limits: { readerStallMs: 20 },
  });
  const get = (path: string): string => `GET /v1/${path} HTTP/1.1\r\nauthorization: Bearer sk-good\r\n\r\n`;
  using waiting = connectRaw(server.port, get('late'));
  using plain = connectRaw(server.port, get('big'));
  using pipelined = connectRaw(server.port, get('big') + get('late'));
  using streamed = connectRaw(server.port, chatRequest());
  for (const { socket } of [plain, pipelined, streamed]) socket.pause();
  while (server.logLines.length < 3) await yieldToEventLoop();
  assert.deepEqual(
    server.logLines.map((line) => `${String(line['status'])} ${String(line['kind'])}`).toSorted(),
    ['200 cancelled', '200 cancelled', '200 cancelled'], // the request that waited for an earlier response never started
  );
  resolve();
  assert.match(await waiting.readUntil('"late"'), /^HTTP\/1\.1 200 /);
});

test('delivers the whole response to a slow reader', { timeout: 20_000 }, async () => {
  const big = 'x'.repeat(8 * 1024 * 1024);
  await using server = await startTestHttp({
    generate: createScriptedGenerate([START_EVENT, BLOCK_START_EVENT, createTextDelta(big), ...END_EVENTS]),
    // Much longer than the pauses of a busy machine, shorter than the whole transfer.
    limits: { readerStallMs: 1_000 },
  });
  const body = '{"model":"svc-plus","messages":[{"role":"user","content":"x"}]}';
  using peer = connectRaw(server.port, chatRequest(body, ['connection: close']));
  let took = 0;
  peer.socket.on('data', (piece: string) => {
    took += piece.length;
    peer.socket.pause();
    setTimeout(() => peer.socket.resume(), 15);
  });
  assert.ok((await peer.readToEnd()).includes(big));
  assert.ok(took > big.length);
});

test('keeps fifty concurrent streams separate', async () => {
  const generate: Generate = (request) => {
    const text = request.messages[0]?.content[0];
    const name = text?.type === 'text' ? text.text : '';
    const events = [
      START_EVENT,
      BLOCK_START_EVENT,
      ...Array.from({ length: 20 }, (_, index) => createTextDelta(`${name}:${index} `)),
      ...END_EVENTS,
    ];
    const batches = (async function* () {
      for (const event of events) {
        await yieldToEventLoop();
        yield [event];
      }
    })();
    return Promise.resolve({ batches, ignored: [] });
  };
  await using server = await startTestHttp({ generate });
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const response = await server.chat({ stream: true, messages: [{ role: 'user', content: `s${index}` }] });
      return contents(await response.text());
    }),
  );
  for (const [index, answer] of answers.entries()) {
    assert.equal(answer, Array.from({ length: 20 }, (_, at) => `s${index}:${at} `).join(''));
  }
});

test('answers a deadline before the head with a status and breaks off the stream after it', async () => {
  const never = silentAfter([]);
  await using plain = await startTestHttp({ generate: never.generate, limits: { deadlinePlainMs: 10 } });
  const response = await plain.chat();
  assert.equal(response.status, 504);
  assert.equal(response.headers.get('x-should-retry'), 'false');
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  assert.equal(error.code, 'request_timeout');
  assert.match(error.message, /^Request timed out, please try again later\. .* Stream the answer/);

  const some = silentAfter([[START_EVENT, BLOCK_START_EVENT, createTextDelta('Hel')]]);
  await using streamed = await startTestHttp({
    generate: some.generate,
    limits: { deadlinePlainMs: 5, deadlineStreamMs: 40 },
  });
  const text = await (await streamed.chat({ stream: true })).text();
  assert.match(data(text).at(-1) ?? '', /"code":"request_timeout"/);
  assert.ok(!text.includes('[DONE]'));
  await some.returned;
});

test('does not cancel an endpoint whose onDisconnect is finish when the client disconnects', async () => {
  const { promise: started, resolve: onStart } = Promise.withResolvers<AbortSignal>();
  const { promise: go, resolve } = Promise.withResolvers<void>();
  await using server = await startTestHttp({
    more: [
      {
        operation: 'test.finish',
        method: 'GET',
        path: '/compatible-mode/v1/finish',
        family: 'compatible',
        regions: ['cn-beijing'],
        onDisconnect: 'finish',
        async handle(_request, { signal }) {
          onStart(signal);
          await go;
          return { type: 'json', status: 200, body: {} };
        },
      },
    ],
  });
  using peer = connectRaw(server.port, 'GET /v1/finish HTTP/1.1\r\nauthorization: Bearer sk-good\r\n\r\n');
  const signal = await started;
  peer.socket.destroy();
  for (let turns = 0; turns < 20; turns++) await yieldToEventLoop();
  assert.deepEqual([signal.aborted, server.http.countInFlight()], [false, 1]);
  resolve();
  while (server.http.countInFlight() > 0) await yieldToEventLoop();
  assert.equal(server.logLines.length, 1);
});

/** Creates a response that calls `onWrite` for each text, and is then full if that returns false. The last text needs no drain. */
function createFakeSink(onWrite: (text: string, onDrain?: () => void) => boolean) {
  let onDrain = (): void => undefined;
  const sink = {
    isDestroyedNow: false,
    writeHead: () => undefined,
    write: (text: string) => onWrite(text, () => onDrain()),
    end: (text?: string) => void (text === undefined || onWrite(text)),
    destroy: () => (sink.isDestroyedNow = true),
    once: (_event: 'drain', listener: () => void) => (onDrain = listener),
    isFull: () => false,
    isDestroyed: () => sink.isDestroyedNow,
  };
  return sink;
}

const TEXT_ENCODER = {
  contentType: 'x',
  open: () => 'o',
  push: (events: readonly string[]) => events.join(''),
  keepAlive: () => '',
  fail: () => '',
  close: () => '.',
};

const PUMP_OPTIONS = {
  signal: new AbortController().signal,
  keepAliveMs: 100_000,
  readerStallMs: 1000,
  createHeaders: () => ({}),
};

test('writes each batch at once, and a long one in slices that split no character', async () => {
  const writes: string[] = [];
  const sink = createFakeSink((text, onDrain) => {
    writes.push(text);
    if (onDrain && text.length > 1) setImmediate(onDrain);
    return text.length <= 1;
  });
  const long = `${'x'.repeat(STREAM_SLICE_CHARS - 1)}🦄${'y'.repeat(STREAM_SLICE_CHARS - 2)}z`;
  const batches = toAsyncIterable([['a', 'b'], [], ['c'], [long]]);
  await pumpStream(sink, { batches, encoder: TEXT_ENCODER }, PUMP_OPTIONS);
  assert.deepEqual(writes, [
    'oab',
    'c',
    long.slice(0, STREAM_SLICE_CHARS - 1),
    long.slice(STREAM_SLICE_CHARS - 1, -1),
    'z',
    '.',
  ]);
});

test('allows a wait for all that the system took before, and returns why the stream was cut', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let count = 0;
  let now = 0;
  const { promise: finished, resolve } = Promise.withResolvers<void>();
  const sink = createFakeSink((_text, onDrain) => {
    count += 1;
    // The system takes 400 KiB at once, for which a reader may take 100 s. It takes longer for the second.
    if (count % 400 !== 0 || !onDrain) return true;
    const waitMs = count === 400 ? 100_000 : 102_000;
    setImmediate(() => {
      now += waitMs;
      t.mock.timers.tick(waitMs);
      if (sink.isDestroyedNow) resolve();
      else onDrain();
    });
    return false;
  });
  const batches = toAsyncIterable(Array.from({ length: 2_000 }, () => ['x'.repeat(1024)]));
  const abort = new AbortController();
  const options = { ...PUMP_OPTIONS, keepAliveMs: 1e9, signal: abort.signal, now: () => now };
  const pumped = pumpStream(sink, { batches, encoder: TEXT_ENCODER }, options);
  await finished;
  assert.equal(count, 800);
  t.mock.timers.reset();
  abort.abort(new ServiceError('cancelled', 'The client disconnected.'));
  assert.equal((await pumped)?.message, 'The client read the stream too slowly.');
});

for (const [name, factor, isCut] of [
  ['waits for a client that takes its stream fast enough', 1, false],
  ['cuts a client that takes its stream a little too slowly for long', 0.9, true],
] as const)
  test(name, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const bytes = 1024;
    const waitMs = (bytes * 1000) / STREAM_READ_BYTES_PER_SECOND_MIN / factor;
    let now = 0;
    let count = 0;
    const { promise: finished, resolve } = Promise.withResolvers<void>();
    const sink = createFakeSink((_text, onDrain) => {
      if (!onDrain) return true;
      count += 1;
      setImmediate(() => {
        now += waitMs;
        t.mock.timers.tick(waitMs);
        if (sink.isDestroyedNow) resolve();
        else onDrain();
      });
      return false;
    });
    const batches = toAsyncIterable(Array.from({ length: 200 }, () => ['x'.repeat(bytes)]));
    const pumped = pumpStream(sink, { batches, encoder: TEXT_ENCODER }, { ...PUMP_OPTIONS, now: () => now });
    await Promise.race([pumped, finished]);
    assert.equal(sink.isDestroyedNow, isCut);
    assert.ok(isCut ? count > 20 && count < 60 : count >= 200, `${count} batches`);
  });
