import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { json as readJson } from 'node:stream/consumers';
import { after, before, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import { until } from '../../../test/until.ts';
import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import type { EngineRequest, EngineRun, TextEngine } from '../engine.ts';
import { REQUEST } from './__fixtures__/test-request.ts';
import { createUpstreamEngine, type UpstreamEngineOptions } from './upstream-engine.ts';

const KEY = 'sk-upstream-0123456789';

const frame = (value: unknown): string => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
const say = (content: string): string => frame({ choices: [{ index: 0, delta: { content } }] });
const call = (of: object): string => frame({ choices: [{ index: 0, delta: { tool_calls: [of] } }] });
const FINISH = frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const USAGE = frame({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } });
const DONE = frame('[DONE]');

const text = (of: string): EngineEvent => ({ type: 'text', choice: 0, text: of, tokens: 1, phase: 0 });
const CHOICE_END: EngineEvent = { type: 'choice-end', choice: 0, reason: 'stop' };
const END: EngineEvent = { type: 'end', usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 2 } };

async function readEvents({ batches }: EngineRun, into: EngineEvent[] = []): Promise<EngineEvent[]> {
  for await (const batch of batches) into.push(...batch);
  return into;
}

/** Returns the error that a call rejects with, and checks that it does not contain the key. */
async function getRejection(call: Promise<unknown>): Promise<ServiceError> {
  const error = await call.then(
    () => assert.fail('did not reject'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ServiceError, String(error));
  assert.ok(error.cause === undefined || error.cause instanceof Error);
  for (const loggedText of [error.message, error.stack, error.cause?.message, error.cause?.stack]) {
    assert.doesNotMatch(loggedText ?? '', new RegExp(KEY));
  }
  return error;
}

describe('upstream engine', () => {
  type Play = (response: ServerResponse, request: IncomingMessage) => unknown;
  let play: Play;
  let requests: IncomingMessage[] = [];
  let server: Server;
  let base = '';
  const engines: TextEngine[] = [];
  let handleRequest: (request: IncomingMessage, response: ServerResponse) => unknown = () => undefined;
  const onRequest = (listener: typeof handleRequest): void => {
    handleRequest = (request, response) => {
      handleRequest = () => undefined;
      listener(request, response);
    };
  };
  const never = new AbortController().signal;

  const engineWith = (change: Partial<UpstreamEngineOptions> = {}): TextEngine => {
    const engine = createUpstreamEngine({
      url: `${base}/v1`,
      model: 'their-model',
      apiKey: KEY,
      contextTokens: 4096,
      ids: { createToolCallId: () => 'call_made' },
      ...change,
    });
    engines.push(engine);
    return engine;
  };
  const start = (change: Partial<EngineRequest> = {}, engine = engineWith()): Promise<EngineRun> =>
    engine.start({ ...REQUEST, ...change }, never);
  const createAnswer = async (): Promise<EngineEvent[]> => readEvents(await start());

  const stream =
    (...pieces: readonly (string | Uint8Array)[]): Play =>
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      for (const piece of pieces) response.write(piece);
      response.end();
    };
  const reply =
    (status: number, body: unknown, headers: Record<string, string> = {}): Play =>
    (response) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(typeof body === 'string' ? body : JSON.stringify(body));

  before(async () => {
    server = createServer((request, response) => {
      // A server without metadata.
      if (request.method === 'GET') return response.writeHead(404).end();
      requests.push(request);
      handleRequest(request, response);
      play(response, request);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    requests = [];
  });
  after(async () => {
    for (const engine of engines) await engine.close();
    server.closeAllConnections();
    server.close();
  });

  it('sends a request in the format, with the key, and emits the events of the response', async () => {
    let body: unknown;
    play = async (response, request) => {
      body = await readJson(request);
      stream(say('Hel'), say('lo'), FINISH, USAGE, DONE)(response, request);
    };
    assert.deepEqual(await createAnswer(), [text('Hel'), text('lo'), CHOICE_END, END]);
    assert.equal(requests[0]?.method, 'POST');
    assert.equal(requests[0]?.url, '/v1/chat/completions');
    assert.equal(requests[0]?.headers.authorization, `Bearer ${KEY}`);
    assert.equal(requests[0]?.headers['x-request-id'], 'r1');
    assert.deepEqual(body, {
      model: 'their-model',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('sends no authorization without a key, and keeps the query of its address', async () => {
    play = stream(FINISH, USAGE, DONE);
    await readEvents(await start({}, engineWith({ apiKey: '', url: `${base}/v1/?api-version=2` })));
    assert.equal(requests[0]?.headers.authorization, undefined);
    assert.equal(requests[0]?.url, '/v1/chat/completions?api-version=2');
  });

  const whole = [': ping\n\n', say('naïve 漢字'), say('🙂\r\n'), FINISH.replaceAll('\n', '\r\n'), USAGE, DONE];
  const called = [
    say('I look.'),
    call({ index: 0, id: 'a', type: 'function', function: { name: 'find', arguments: '' } }),
    call({ index: 0, id: '', function: { arguments: '{"what":' } }),
    call({ index: 1, type: 'function', function: { name: 'näh', arguments: '{"é":' } }),
    call({ index: 0, function: { arguments: '"漢"}' } }),
    call({ index: 1, function: { arguments: '1}' } }),
    FINISH,
    USAGE,
    DONE,
  ];
  const cuttings: readonly { name: string; pieces: readonly string[]; expected: readonly EngineEvent[] }[] = [
    { name: 'a whole answer', pieces: whole, expected: [text('naïve 漢字'), text('🙂\r\n'), CHOICE_END, END] },
    {
      name: 'one with two calls, mixed up',
      pieces: called,
      expected: [
        text('I look.'),
        { type: 'tool-call', choice: 0, index: 0, id: 'a', name: 'find' },
        { type: 'tool-arguments', choice: 0, index: 0, text: '{"what":' },
        { type: 'tool-arguments', choice: 0, index: 0, text: '"漢"}' },
        { type: 'tool-call', choice: 0, index: 1, id: 'call_made', name: 'näh' },
        { type: 'tool-arguments', choice: 0, index: 1, text: '{"é":' },
        { type: 'tool-arguments', choice: 0, index: 1, text: '1}' },
        { ...CHOICE_END, reason: 'tool-calls' },
        END,
      ],
    },
    {
      name: 'a broken one',
      pieces: [...whole.slice(0, 3), frame('{"x'), DONE],
      expected: [text('naïve 漢字'), text('🙂\r\n')],
    },
  ];
  for (const { name, pieces, expected } of cuttings) {
    it(`emits the same events however the bytes are cut: ${name}`, async () => {
      const bytes = Buffer.from(pieces.join(''));
      const engine = engineWith();
      await fc.assert(
        fc.asyncProperty(fc.uniqueArray(fc.nat(bytes.length), { maxLength: 12 }), async (cuts) => {
          const at = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
          play = async (response) => {
            response.writeHead(200, { 'content-type': 'text/event-stream' });
            for (const [index, from] of at.entries()) {
              const piece = bytes.subarray(from, at[index + 1] ?? bytes.length);
              // Each piece is sent before the next one, so that it also arrives separately.
              await new Promise<void>((written) => response.write(piece, () => setImmediate(written)));
            }
            response.end();
          };
          const events: EngineEvent[] = [];
          const reading = readEvents(await start({}, engine), events);
          if (expected.at(-1)?.type === 'end') await reading;
          else assert.equal((await getRejection(reading)).kind, 'upstream-failed');
          assert.deepEqual(events, expected);
        }),
        { numRuns: scalePropertyRuns(50) },
      );
    });
  }

  it('reuses a connection after an answer', async () => {
    const engine = engineWith();
    const ports = new Set<number | undefined>();
    play = (response, request) => {
      ports.add(request.socket.remotePort);
      stream(FINISH, USAGE, DONE)(response, request);
    };
    for (let turn = 0; turn < 3; turn++) {
      await readEvents(await start({}, engine));
      // The server has sent its last byte; after one more turn of the event loop the connection is free.
      await new Promise((turned) => setImmediate(turned));
    }
    assert.equal(ports.size, 1);
  });

  it('retries once on a new connection when the server closed the reused one', async () => {
    const engine = engineWith();
    play = stream(FINISH, USAGE, DONE);
    await readEvents(await start({}, engine));
    await new Promise((turned) => setImmediate(turned));
    const first = requests[0]?.socket;
    play = (response, request) => {
      if (request.socket === first) request.socket.destroy();
      else stream(FINISH, USAGE, DONE)(response, request);
    };
    assert.deepEqual(await readEvents(await start({}, engine)), [CHOICE_END, END]);
  });

  it('needs neither an end mark nor a last empty line if every choice has ended', async () => {
    for (const pieces of [
      [say('a'), FINISH, USAGE],
      [say('a'), FINISH, USAGE.trimEnd()],
      [say('a'), `${FINISH}${USAGE}data: [DONE]`],
    ]) {
      play = stream(...pieces);
      const events = await createAnswer();
      assert.deepEqual(
        events.map(({ type }) => type),
        ['text', 'choice-end', 'end'],
      );
    }
    play = stream('\uFEFF', say('a'), FINISH.trimEnd());
    assert.deepEqual((await createAnswer()).at(0), text('a'));
  });

  it('parses an answer that was not streamed', async () => {
    play = reply(200, {
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Hello',
            tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    });
    assert.deepEqual(await createAnswer(), [
      text('Hello'),
      { type: 'tool-call', choice: 0, index: 0, id: 'c', name: 'f' },
      { type: 'tool-arguments', choice: 0, index: 0, text: '{}' },
      { ...CHOICE_END, reason: 'tool-calls' },
      END,
    ]);
  });

  const refusals: readonly {
    readonly name: string;
    readonly status: number;
    readonly body?: unknown;
    readonly headers?: Record<string, string>;
    readonly kind: string;
    readonly message?: string | RegExp;
    readonly cause?: RegExp;
    readonly retryAfterSeconds?: number;
  }[] = [
    {
      name: 'a bad parameter, in the upstream’s own words',
      status: 400,
      body: { error: { message: 'temperature must be at most 2', code: 'x' } },
      kind: 'invalid-request',
      message: 'temperature must be at most 2',
    },
    {
      name: 'a bad body as FastAPI says it',
      status: 422,
      body: { detail: [{ loc: ['body', 'n'] }] },
      kind: 'invalid-request',
      message: '[{"loc":["body","n"]}]',
    },
    {
      name: 'a page instead of words',
      status: 400,
      body: '<html>no</html>',
      kind: 'invalid-request',
      message: 'The upstream refused the request as invalid.',
    },
    {
      name: 'words that repeat the key',
      status: 400,
      body: { message: `do not send ${KEY} here` },
      kind: 'invalid-request',
      message: 'do not send [key] here',
    },
    {
      name: 'a very long message',
      status: 400,
      body: { error: '🙂'.repeat(600) },
      kind: 'invalid-request',
      message: `${'🙂'.repeat(500)}…`,
    },
    {
      name: 'a rejected key',
      status: 401,
      body: { error: { message: `Incorrect API key provided: ${KEY}` } },
      kind: 'upstream-failed',
      message: 'The upstream failed on this request.',
      cause: /answered 401: it rejects the API key/,
    },
    { name: 'missing rights of the key', status: 403, kind: 'upstream-failed', cause: /apiKeyEnv/ },
    {
      name: 'a model it does not have',
      status: 404,
      body: { object: 'error', message: 'The model `x` does not exist.', code: 404 },
      kind: 'upstream-failed',
      message: 'The upstream failed on this request.',
      cause: /catalogue entry.*The model `x` does not exist/,
    },
    { name: 'the size', status: 413, kind: 'too-large' },
    { name: 'the rate', status: 429, headers: { 'retry-after': '7' }, kind: 'overloaded', retryAfterSeconds: 7 },
    { name: 'for now', status: 503, headers: { 'retry-after': 'Fri, 01 Jan 2038' }, kind: 'overloaded' },
    { name: 'with a failure', status: 500, body: { error: `boom ${KEY}` }, kind: 'upstream-failed', cause: /boom/ },
    { name: 'after its own time-out', status: 504, body: '<html>', kind: 'timeout' },
    { name: 'with nothing', status: 204, kind: 'upstream-failed', cause: /answered 204/ },
    { name: 'with an empty 200', status: 200, body: '', kind: 'upstream-failed', cause: /an empty body/ },
    {
      name: 'with a page',
      status: 200,
      body: '<html>',
      headers: { 'content-type': 'text/html' },
      kind: 'upstream-failed',
    },
    {
      name: 'with an error in a 200',
      status: 200,
      body: { error: { message: 'x', code: 400 } },
      kind: 'invalid-request',
    },
    { name: 'with no choices', status: 200, body: { choices: [] }, kind: 'upstream-failed' },
  ];
  for (const { name, status, body = '', headers, ...expected } of refusals) {
    it(`refuses at the start what the upstream refuses: ${name} (${status})`, async () => {
      play = reply(status, body, headers);
      const error = await getRejection(start());
      assert.equal(error.kind, expected.kind);
      if (typeof expected.message === 'string') assert.equal(error.message, expected.message);
      if (expected.cause) assert.match(error.cause instanceof Error ? error.cause.message : '', expected.cause);
      assert.equal(error.retryAfterSeconds, expected.retryAfterSeconds);
    });
  }

  it('follows no redirect, which would leak the key', async () => {
    play = reply(307, '', { location: `${base}/elsewhere` });
    const error = await getRejection(start());
    assert.equal(error.kind, 'upstream-failed');
    assert.deepEqual(
      requests.map(({ url }) => url),
      ['/v1/chat/completions'],
    );
  });

  it('refuses a key that no header can hold, without quoting it', async () => {
    const error = await getRejection((async () => engineWith({ apiKey: `${KEY}\n` }))());
    assert.equal(error.kind, 'upstream-failed');
  });

  it('fails when nothing listens', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, 'close');
    const error = await getRejection(start({}, engineWith({ url: `http://127.0.0.1:${port}` })));
    assert.equal(error.kind, 'upstream-failed');
    assert.match(error.cause instanceof Error ? error.cause.message : '', /ECONNREFUSED/);
  });

  const broken: readonly { name: string; pieces: readonly (string | Uint8Array)[]; before: readonly EngineEvent[] }[] =
    [
      { name: 'an empty stream', pieces: [], before: [] },
      { name: 'nothing but an end mark', pieces: [DONE], before: [] },
      { name: 'an end without a finish reason', pieces: [say('a')], before: [text('a')] },
      { name: 'an end mark without a finish reason', pieces: [say('a'), DONE], before: [text('a')] },
      { name: 'garbage', pieces: [say('a'), frame('{"choices":[{'), FINISH, DONE], before: [text('a')] },
      { name: 'an error', pieces: [say('a'), frame({ error: { message: 'boom' } }), DONE], before: [text('a')] },
      { name: 'half an event', pieces: [say('a'), FINISH.slice(0, -10)], before: [text('a')] },
      {
        name: 'half a character',
        pieces: [say('a'), Buffer.from(say('漢')).subarray(0, say('').indexOf('""') + 3)],
        before: [text('a')],
      },
      {
        name: 'bytes that are no text',
        pieces: [say('a'), Uint8Array.of(0, 255, 192, 10, 10), DONE],
        before: [text('a')],
      },
    ];
  for (const { name, pieces, before: expectedEvents } of broken) {
    it(`rejects a broken answer: ${name}`, async () => {
      play = stream(...pieces);
      const events: EngineEvent[] = [];
      const error = await getRejection(readEvents(await start(), events));
      assert.equal(error.kind, 'upstream-failed');
      assert.deepEqual(events, expectedEvents);
    });
  }

  it('ends an answer that the upstream continues after its finish reason, also without an end mark', async (t) => {
    let isClosed = false;
    play = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(say('a') + FINISH);
      const timer = setInterval(() => response.write(say('more')), 5);
      t.after(() => clearInterval(timer));
      response.on('close', () => (isClosed = true));
    };
    const events = await readEvents(await start());
    assert.deepEqual(
      events.map(({ type }) => type),
      ['text', 'choice-end', 'end'],
    );
    await until('the end of the connection', { timeoutMs: 10_000 }, async () => isClosed || undefined);
  });

  it('rejects when the upstream dies before its head, before its first event and after it', async () => {
    play = (_, request) => request.socket.destroy();
    assert.equal((await getRejection(start())).kind, 'upstream-failed');
    for (const sentBefore of ['', say('a')]) {
      play = (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`: hello\n\n${sentBefore}`, () => response.destroy());
      };
      const error = await getRejection(readEvents(await start()));
      assert.equal(error.kind, 'upstream-failed');
      assert.match(error.cause instanceof Error ? error.cause.message : '', /ECONNRESET/);
    }
  });

  it('rejects when the upstream dies inside a character, after the events before it', async () => {
    play = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const half = Buffer.from(say('漢')).subarray(0, say('').indexOf('""') + 3);
      response.write(say('a'));
      response.write(half, () => response.destroy());
    };
    const events: EngineEvent[] = [];
    assert.equal((await getRejection(readEvents(await start(), events))).kind, 'upstream-failed');
    assert.deepEqual(events, [text('a')]);
  });

  it('maps an error inside an answer: too long a prompt, a rate limit, a failure', async () => {
    for (const [error, kind] of [
      [{ message: 'too long', code: 'context_length_exceeded' }, 'context-exceeded'],
      [{ message: 'too long', type: 'exceed_context_size_error', code: 500 }, 'context-exceeded'],
      [{ message: 'busy', code: 429 }, 'overloaded'],
      [{ message: 'our key', code: 401 }, 'upstream-failed'],
      ['boom', 'upstream-failed'],
    ] as const) {
      play = stream(frame({ error }), DONE);
      assert.equal((await getRejection(readEvents(await start()))).kind, kind);
    }
  });

  it('times out for an upstream that hangs: without a head, with comments only, inside an answer, in an error response', async () => {
    // Only the limit under test is short: a stall of this process must not reach another limit first.
    const [noEvent, noMore] = [{ firstTokenMs: 40 }, { idleMs: 40 }];
    const hang =
      (head: string | undefined, status = 200): Play =>
      (response) => {
        if (head === undefined) return;
        response.writeHead(status, { 'content-type': 'text/event-stream' });
        response.write(head);
      };
    for (const [how, timeouts, step] of [
      [hang(undefined), noEvent, /first event/],
      [hang(': ping\n\n'), noEvent, /first event/],
      [hang(frame({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] })), noEvent, /first event/],
      [hang(say('a')), noMore, /next piece/],
      [hang('{"error"', 500), noEvent, /first event/],
    ] as const) {
      play = how;
      const closed = new Promise((resolve) => onRequest((request) => request.socket.once('close', resolve)));
      const error = await getRejection(start({}, engineWith({ timeouts })).then((started) => readEvents(started)));
      assert.equal(error.kind, 'timeout');
      assert.match(error.cause instanceof Error ? error.cause.message : '', step);
      await closed;
    }
  });

  it('times out for an address that accepts no connection', async () => {
    const mute = createTcpServer((socket) => socket.resume()).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const url = `https://127.0.0.1:${(mute.address() as AddressInfo).port}`; // the handshake is part of connecting
    const error = await getRejection(start({}, engineWith({ url, timeouts: { connectMs: 40 } })));
    assert.equal(error.kind, 'timeout');
    assert.match(error.cause instanceof Error ? error.cause.message : '', /connecting/);
    mute.close();
    await once(mute, 'close');
  });

  it('accepts an answer that arrives byte by byte', async () => {
    play = async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const byte of Buffer.from(`${say('é')}${FINISH}${USAGE}`)) {
        await new Promise<void>((written) => response.write(Uint8Array.of(byte), () => setImmediate(written)));
      }
      response.end(DONE);
    };
    assert.deepEqual(await createAnswer(), [text('é'), CHOICE_END, END]);
  });

  it('does not count the time of a slow reader', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    play = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(say('a'));
      release = () => response.end(`${FINISH}${USAGE}${DONE}`);
    };
    let release = (): void => undefined;
    const idleMs = 20;
    const { batches } = await start({}, engineWith({ timeouts: { idleMs } }));
    const events: EngineEvent[] = [];
    for await (const batch of batches) {
      events.push(...batch);
      if (events.length > 1) continue;
      t.mock.timers.tick(3 * idleMs);
      release();
    }
    assert.deepEqual(events, [text('a'), CHOICE_END, END]);
  });

  const forever: Play = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(say('a'));
  };
  const closedByUs = (): Promise<unknown> =>
    new Promise((resolve) => onRequest((_, response) => response.once('close', resolve)));

  it('closes the connection when its reader leaves', async () => {
    play = forever;
    const closed = closedByUs();
    for await (const batch of (await start()).batches) {
      assert.deepEqual(batch, [text('a')]);
      break;
    }
    await closed;
  });

  it('closes the connection when the signal aborts: before the head, unread, inside an answer', async () => {
    const reason = new ServiceError('timeout', 'deadline');
    for (const how of ['before the head', 'unread', 'reading'] as const) {
      const abort = new AbortController();
      const closed = closedByUs();
      play = how === 'before the head' ? () => abort.abort(reason) : forever;
      const started = engineWith().start(REQUEST, abort.signal);
      if (how === 'before the head') assert.equal(await getRejection(started), reason);
      else {
        const { batches } = await started;
        if (how === 'unread') abort.abort(reason);
        else {
          const reading = (async () => {
            for await (const batch of batches) if (batch.length > 0) abort.abort(reason);
          })();
          assert.equal(await getRejection(reading), reason);
        }
      }
      await closed;
    }
  });

  it('can be left at the last batch, read or not, and called again', async () => {
    const unhandledErrors: unknown[] = [];
    const onUnhandledRejection = (error: unknown): void => void unhandledErrors.push(error);
    process.on('uncaughtException', onUnhandledRejection);
    play = stream(say('a'), FINISH, USAGE, DONE);
    const engine = engineWith();
    for (const turns of [0, 1, 2, 3, 4]) {
      for (const reads of [1, Infinity]) {
        const caller = new AbortController();
        const { batches } = await engine.start(REQUEST, caller.signal);
        const lines = batches[Symbol.asyncIterator]();
        for (let read = 0; read < reads && !(await lines.next()).done;) read++;
        for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
        caller.abort();
        for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
        assert.equal((await readEvents(await start({}, engine))).at(-1)?.type, 'end');
      }
    }
    process.off('uncaughtException', onUnhandledRejection);
    assert.deepEqual(unhandledErrors, []);
  });

  it('sends nothing for an aborted signal', async () => {
    assert.equal((await getRejection(engineWith().start(REQUEST, AbortSignal.abort()))).kind, 'cancelled');
    assert.equal(requests.length, 0);
  });

  it('aborts running calls when it is closed', async () => {
    play = forever;
    const engine = engineWith();
    const { batches } = await start({}, engine);
    const reading = (async () => {
      for await (const batch of batches) if (batch.length > 0) await engine.close();
    })();
    assert.equal((await getRejection(reading)).kind, 'upstream-failed');
  });

  it('returns the metadata of the model, and estimates no token counts', async () => {
    const engine = engineWith();
    const model = await engine.loadModel();
    assert.equal(model.contextTokens, 4096);
    assert.equal(model.chatTemplate, undefined);
    assert.deepEqual(model.specialTokens, []);
    assert.equal((await getRejection(engine.countTokens(REQUEST.input))).kind, 'unsupported');
  });
});
