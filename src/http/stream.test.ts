import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { ServiceError } from '../core/error.ts';
import type { GenerationEvent } from '../core/event.ts';
import { KEEP_ALIVE_MS } from '../core/limits.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import type { Generate } from '../generation/generation.ts';
import { pump } from './stream.ts';
import { END, OPEN, START, chatRequest, connectRaw, of, say, saying, startHttp } from './__fixtures__/test-http.ts';

type Batch = readonly GenerationEvent[];

/** A source that gives `first` and is then silent, whatever the signal says; tells when it is let go of. */
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

test('a stream has the head, the frames and the end mark of its protocol', async () => {
  await using front = await startHttp();
  const response = await front.chat({ stream: true, stream_options: { include_usage: true } });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/event-stream;charset=UTF-8');
  assert.equal(response.headers.get('cache-control'), 'no-cache');
  const id = response.headers.get('x-request-id') ?? '';
  const text = await response.text();
  const frames = data(text);
  assert.equal(frames.length, 6); // role, two pieces, finish, usage, end mark
  assert.equal(text, frames.map((frame) => `data: ${frame}\n\n`).join(''));
  assert.equal(frames.at(-1), '[DONE]');
  assert.equal(contents(text), 'Hello');
  for (const frame of frames.slice(0, -1))
    assert.ok(frame.endsWith(`"model":"svc-plus","id":"chatcmpl-${id}"}`), frame);
});

test('an unstreamed answer is one object with its id in the header', async () => {
  await using front = await startHttp();
  const response = await front.chat({ user: 'me', search_options: { forced_search: true } });
  const body = (await response.json()) as { id: string; choices: { message: { content: string } }[] };
  assert.equal(body.choices[0]?.message.content, 'Hello');
  assert.equal(body.id, `chatcmpl-${response.headers.get('x-request-id')}`);
  assert.equal(response.headers.get('x-parley-ignored'), 'user,search_options.forced_search');
});

test('the log line and the measure of a stream have its facts, and no text', async () => {
  await using front = await startHttp();
  await (await front.chat({ stream: true })).text();
  while (front.lines.length === 0) await turn();
  const [line] = front.lines;
  assert.equal(front.lines.length, 1);
  assert.deepEqual(
    [
      line?.['operation'],
      line?.['status'],
      line?.['kind'],
      line?.['asked'],
      line?.['completionTokens'],
      line?.['keyId'],
    ],
    ['chat-completions.create', 200, 'none', 'svc-plus', 2, 'key_1'],
  );
  assert.ok(Number(line?.['firstByteMs']) <= Number(line?.['durationMs']));
  assert.equal(front.measures[0]?.promptTokens, 3);
  assert.ok(!JSON.stringify(front.lines).includes('Hello'));
});

test('a wait that clients would not keep is not asked for, whoever names it', async () => {
  const generate: Generate = () =>
    Promise.reject(new ServiceError('overloaded', 'Full.', { retryAfterSeconds: 3_600 }));
  await using front = await startHttp({ generate });
  assert.equal((await front.chat({})).headers.get('retry-after'), '60');
});

test('what fails before the first event has a real status', async () => {
  const generate: Generate = () => Promise.reject(new ServiceError('overloaded', 'Full.', { retryAfterSeconds: 7 }));
  await using front = await startHttp({ generate });
  const refused = await front.chat({ stream: true });
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get('retry-after'), '7');
  assert.equal(refused.headers.get('content-type'), 'application/json');
  const broken = (async function* () {
    yield [START];
    throw new ServiceError('engine-failed', 'It crashed.');
  })();
  await using second = await startHttp({ generate: () => Promise.resolve({ batches: broken, ignored: [] }) });
  assert.equal((await second.chat({ stream: true })).status, 500);
});

test('what fails after the head is told in the stream, without the end mark', async () => {
  for (const [stream, kind] of [
    [[START, OPEN, say('Hel')], 'engine-failed'], // stops without an end
    [[START, OPEN, say('Hel'), new Error('secret detail')], 'internal'],
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
    await using front = await startHttp({ generate });
    const text = await (await front.chat({ stream: true })).text();
    assert.match(data(text).at(-1) ?? '', /^\{"error":\{"message":"An internal error has occured.*"request_id":"/);
    assert.ok(!text.includes('[DONE]') && !text.includes('secret detail'));
    while (front.lines.length === 0) await turn();
    assert.deepEqual(
      [front.lines[0]?.['status'], front.lines[0]?.['kind'], front.lines[0]?.['level']],
      [200, kind, 'error'],
    );
  }
});

test('unstreamed, an answer that breaks off is an error, never a short success', async () => {
  await using front = await startHttp({ generate: saying([START, OPEN, say('Hel')]) });
  assert.equal((await front.chat()).status, 500);
});

test('silence is filled with comments, which begin the answer if need be', async () => {
  const { promise: go, resolve } = Promise.withResolvers<void>();
  const generate: Generate = () => {
    const batches = (async function* () {
      await go;
      yield [START, OPEN, say('late'), ...END];
    })();
    return Promise.resolve({ batches, ignored: [] });
  };
  await using front = await startHttp({ generate, limits: { keepAliveMs: 5 } });
  using peer = connectRaw(front.port, chatRequest());
  const silent = await peer.until(':keep-alive\n\n\r\n');
  assert.match(silent, /^HTTP\/1\.1 200 OK/);
  assert.ok(!silent.includes('data:'));
  resolve();
  const text = await peer.until('[DONE]');
  assert.equal(contents(text), 'late');
});

test('while a request waits to be taken in, nothing is sent, so it can still be refused', async () => {
  const { promise: taken, reject } = Promise.withResolvers<never>();
  await using front = await startHttp({ generate: () => taken, limits: { keepAliveMs: 1 } });
  const answer = front.chat({ stream: true });
  while (front.http.inFlight() === 0) await turn();
  for (let turns = 0; turns < 50; turns++) await turn();
  reject(new ServiceError('overloaded', 'Waited too long.'));
  assert.equal((await answer).status, 503);
});

test('when the caller leaves a silent stream, the source is let go of at once', async () => {
  const { generate, returned } = silentAfter([[START, OPEN, say('Hel')]]);
  let signal: AbortSignal | undefined;
  await using front = await startHttp({
    generate: (request, on, context) => {
      signal = context.signal;
      return generate(request, on, context);
    },
  });
  using peer = connectRaw(front.port, chatRequest());
  await peer.until('Hel');
  const leftAt = performance.now();
  peer.socket.destroy();
  // Long before the silence is filled, by which it would be noticed otherwise: a machine that stalls is not that slow.
  assert.ok((await returned) - leftAt < KEEP_ALIVE_MS / 2);
  assert.equal(signal?.aborted, true);
  while (front.lines.length === 0) await turn();
  assert.deepEqual([front.lines[0]?.['kind'], front.lines[0]?.['level']], ['cancelled', 'info']);
});

test('when the caller leaves before anything was said, the work is told', async () => {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const generate: Generate = (_request, _on, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        resolve();
        reject(ServiceError.from(signal.reason));
      });
    });
  await using front = await startHttp({ generate });
  using peer = connectRaw(front.port, chatRequest());
  while (front.http.inFlight() === 0) await turn();
  peer.socket.destroy();
  await aborted;
  while (front.http.inFlight() > 0) await turn();
  assert.deepEqual([front.lines[0]?.['status'], front.lines[0]?.['kind']], [499, 'cancelled']);
});

test('a run that is taken in after its caller left is let go of', async () => {
  const { generate, returned } = silentAfter([]);
  const { promise: go, resolve } = Promise.withResolvers<void>();
  await using front = await startHttp({
    generate: async (request, on, context) => {
      await go; // deaf to its signal
      return generate(request, on, context);
    },
  });
  using peer = connectRaw(front.port, chatRequest());
  while (front.http.inFlight() === 0) await turn();
  peer.socket.destroy();
  while (front.http.inFlight() > 0) await turn();
  resolve();
  await returned;
});

test('a reader that stops reading stops the engine, and leaving frees it', async () => {
  const piece = 'x'.repeat(16_384);
  let pulled = 0;
  const { promise: returned, resolve } = Promise.withResolvers<void>();
  const generate: Generate = () => {
    const batches = {
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.resolve({ done: false as const, value: pulled++ === 0 ? [START, OPEN] : [say(piece)] }),
        return: () => {
          resolve();
          return Promise.resolve({ done: true as const, value: undefined });
        },
      }),
    };
    return Promise.resolve({ batches, ignored: [] });
  };
  await using front = await startHttp({ generate, limits: { keepAliveMs: 1 } });
  using peer = connectRaw(front.port, chatRequest());
  peer.socket.pause();
  let before = -1;
  for (let still = 0; still < 500; still = pulled === before && pulled > 0 ? still + 1 : 0) {
    before = pulled;
    await turn();
  }
  // What the kernel's buffers of both ends hold, and no more: the source would have gone on for ever.
  assert.ok(pulled * piece.length < 32 * 1024 * 1024, `${pulled} pieces`);
  peer.socket.destroy();
  await returned;
});

test(
  'a reader that takes nothing of an answer is dropped, one that waits for it is not',
  { timeout: 20_000 },
  async () => {
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
    await using front = await startHttp({
      generate: saying([START, OPEN], [say(big)], END),
      more: [answers('big', () => Promise.resolve(big)), late],
      limits: { readerStallMs: 20 },
    });
    const get = (path: string): string => `GET /v1/${path} HTTP/1.1\r\nauthorization: Bearer sk-good\r\n\r\n`;
    using waiting = connectRaw(front.port, get('late'));
    using plain = connectRaw(front.port, get('big'));
    using pipelined = connectRaw(front.port, get('big') + get('late'));
    using streamed = connectRaw(front.port, chatRequest());
    for (const { socket } of [plain, pipelined, streamed]) socket.pause();
    while (front.lines.length < 4) await turn();
    assert.deepEqual(
      front.lines.map((line) => `${String(line['status'])} ${String(line['kind'])}`).toSorted(),
      ['200 cancelled', '200 cancelled', '200 cancelled', '499 cancelled'], // the last is the one behind an answer
    );
    resolve();
    assert.match(await waiting.until('"late"'), /^HTTP\/1\.1 200 /);
  },
);

test('a slow reader gets all of it', { timeout: 20_000 }, async () => {
  const big = 'x'.repeat(8 * 1024 * 1024);
  await using front = await startHttp({
    generate: saying([START, OPEN, say(big), ...END]),
    // Far longer than a busy machine sleeps, and shorter than all of it takes.
    limits: { readerStallMs: 1_000 },
  });
  const body = '{"model":"svc-plus","messages":[{"role":"user","content":"x"}]}';
  using peer = connectRaw(front.port, chatRequest(body, ['connection: close']));
  let took = 0;
  peer.socket.on('data', (piece: string) => {
    took += piece.length;
    peer.socket.pause();
    setTimeout(() => peer.socket.resume(), 15);
  });
  assert.ok((await peer.rest()).includes(big));
  assert.ok(took > big.length);
});

test('fifty streams at once do not mix', async () => {
  const generate: Generate = (request) => {
    const text = request.messages[0]?.content[0];
    const name = text?.type === 'text' ? text.text : '';
    const events = [START, OPEN, ...Array.from({ length: 20 }, (_, index) => say(`${name}:${index} `)), ...END];
    const batches = (async function* () {
      for (const event of events) {
        await turn();
        yield [event];
      }
    })();
    return Promise.resolve({ batches, ignored: [] });
  };
  await using front = await startHttp({ generate });
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const response = await front.chat({ stream: true, messages: [{ role: 'user', content: `s${index}` }] });
      return contents(await response.text());
    }),
  );
  for (const [index, answer] of answers.entries()) {
    assert.equal(answer, Array.from({ length: 20 }, (_, at) => `s${index}:${at} `).join(''));
  }
});

test('a deadline before the head has a status, one after it breaks off the stream', async () => {
  const never = silentAfter([]);
  await using plain = await startHttp({ generate: never.generate, limits: { deadlinePlainMs: 10 } });
  const response = await plain.chat();
  assert.equal(response.status, 500);
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  assert.equal(error.code, 'request_timeout');
  assert.match(error.message, /^Request timed out, please try again later\./);

  const some = silentAfter([[START, OPEN, say('Hel')]]);
  await using streamed = await startHttp({
    generate: some.generate,
    limits: { deadlinePlainMs: 5, deadlineStreamMs: 40 },
  });
  const text = await (await streamed.chat({ stream: true })).text();
  assert.match(data(text).at(-1) ?? '', /"code":"request_timeout"/);
  assert.ok(!text.includes('[DONE]'));
  await some.returned;
});

test('an endpoint that finishes goes on when the caller leaves', async () => {
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<AbortSignal>();
  const { promise: go, resolve } = Promise.withResolvers<void>();
  await using front = await startHttp({
    more: [
      {
        operation: 'test.finish',
        method: 'GET',
        path: '/compatible-mode/v1/finish',
        family: 'compatible',
        regions: ['cn-beijing'],
        onDisconnect: 'finish',
        async handle(_request, { signal }) {
          onAsked(signal);
          await go;
          return { type: 'json', status: 200, body: {} };
        },
      },
    ],
  });
  using peer = connectRaw(front.port, 'GET /v1/finish HTTP/1.1\r\nauthorization: Bearer sk-good\r\n\r\n');
  const signal = await asked;
  peer.socket.destroy();
  for (let turns = 0; turns < 20; turns++) await turn();
  assert.deepEqual([signal.aborted, front.http.inFlight()], [false, 1]);
  resolve();
  while (front.http.inFlight() > 0) await turn();
  assert.equal(front.lines.length, 1);
});

test('batches of one tick are one write', async () => {
  const writes: string[] = [];
  const response = {
    writeHead: () => undefined,
    write: (text: string) => writes.push(text) > 0,
    end: (text: string) => writes.push(text),
    destroy: () => undefined,
    once: () => undefined,
    isFull: () => false,
    isDestroyed: () => false,
  };
  const encoder = {
    contentType: 'x',
    open: () => 'o',
    push: (events: readonly string[]) => events.join(''),
    keepAlive: () => '',
    fail: () => '',
    close: () => '.',
  };
  await pump(
    response,
    { batches: of([['a', 'b'], [], ['c']]), encoder },
    {
      gone: new AbortController().signal,
      keepAliveMs: 1000,
      head: () => ({}),
    },
  );
  assert.deepEqual(writes, ['oab', 'c', '.']);
});
