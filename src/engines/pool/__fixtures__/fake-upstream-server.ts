import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Responds to a completion request. */
export type FakeResponder = (response: ServerResponse, request: IncomingMessage) => void;

export interface FakeUpstreamServer {
  readonly url: string;
  readonly host: string;
  respond: FakeResponder;
  /** Number of completion requests. */
  requestCount: number;
  /** Number of them whose client closed the connection before the end. */
  abortedCount: number;
  /** Stops listening and closes all connections, as if the machine were gone. */
  stop(): Promise<void>;
}

/** Starts a chat-completions server on the loopback interface. Requests for its list of models always succeed. */
export async function startFakeUpstreamServer(initialResponder: FakeResponder): Promise<FakeUpstreamServer> {
  const server: Server = createServer((request, response) => {
    request.resume();
    if (request.method === 'GET') return respondWithJson(200, { object: 'list', data: [{ id: 'their-model' }] })(response, request);
    fake.requestCount++;
    response.on('close', () => {
      if (!response.writableFinished) fake.abortedCount++;
    });
    return fake.respond(response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const fake: FakeUpstreamServer = {
    url: `http://127.0.0.1:${port}/v1`,
    host: `127.0.0.1:${port}`,
    respond: initialResponder,
    requestCount: 0,
    abortedCount: 0,
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return fake;
}

const encodeFrame = (value: unknown): string => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
const encodeTextChunk = (content: string): string => encodeFrame({ choices: [{ index: 0, delta: { content } }] });
const END_FRAMES = [
  encodeFrame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  encodeFrame({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }),
  encodeFrame('[DONE]'),
].join('');

export const respondWithJson =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): FakeResponder =>
  (response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body));

const startStream =
  (continueStream: (response: ServerResponse) => void): FakeResponder =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    continueStream(response);
  };

const streamPieces = (...pieces: readonly (string | Uint8Array)[]): FakeResponder =>
  startStream((response) => response.end(Buffer.concat(pieces.map((piece) => Buffer.from(piece)))));

/** Text of a whole answer. */
export const FULL_TEXT = 'naïve 漢字 🙂';
const FULL_ANSWER = Buffer.from(encodeTextChunk('naïve ') + encodeTextChunk('漢字 🙂') + END_FRAMES);

export const respondFully: FakeResponder = streamPieces(FULL_ANSWER);

/** Sends the answer in pieces of 9 bytes, which cut characters, one per turn of the event loop. */
export const respondInDrips: FakeResponder = startStream((response) => {
  let at = 0;
  const next = (): void => {
    if (response.destroyed) return;
    response.write(FULL_ANSWER.subarray(at, at + 9));
    at += 9;
    if (at < FULL_ANSWER.length) setImmediate(next);
    else response.end();
  };
  next();
});

/** Sends comments for ever, and no event. */
const sendCommentsOnly: FakeResponder = startStream((response) => {
  const timer = setInterval(() => response.write(': still here\n'), 20);
  response.on('close', () => clearInterval(timer));
});

/** Closes the connection after its first event was read. */
export const breakMidAnswer: FakeResponder = startStream((response) => {
  response.write(encodeTextChunk('naïve '), () => setTimeout(() => response.destroy(), 20));
});

/** Well-formed failures before the first event, which the request may have caused. */
export const AMBIGUOUS_FAULTS: Readonly<Record<string, FakeResponder>> = {
  'sends an error in a 200': streamPieces(encodeFrame({ error: { message: 'CUDA out of memory', code: 500 } })),
  'sends an error in a whole 200': respondWithJson(200, { error: { message: 'out of memory' } }),
  'answers 500': respondWithJson(500, { error: { message: 'worker died' } }),
};

/** Other failures before the first event, which are the server's own. */
export const FAULTS: Readonly<Record<string, FakeResponder>> = {
  'closes the connection': (response) => response.destroy(),
  'dies after its head': startStream((response) => setImmediate(() => response.destroy())),
  'hangs without a head': () => undefined,
  'hangs after its head': startStream(() => undefined),
  'drips comments only': sendCommentsOnly,
  'sends garbage': streamPieces('data: {"choices": [{]\n\n'),
  'sends a page': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>'),
  'sends an empty 200': (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(),
  'sends an empty stream': streamPieces(''),
  'sends the end mark only': streamPieces(encodeFrame('[DONE]')),
  'ends in half a character': streamPieces(Buffer.from(encodeTextChunk('漢')).subarray(0, -10)),
  'answers 502 with a page': respondWithJson(502, '<h1>Bad gateway</h1>', { 'content-type': 'text/html' }),
  'answers 401': respondWithJson(401, { error: { message: 'wrong key' } }),
  'answers 404': respondWithJson(404, { error: { message: 'no such model' } }),
  redirects: respondWithJson(307, '', { location: 'http://127.0.0.1:9/' }),
  'is busy': respondWithJson(429, { error: { message: 'slow down' } }, { 'retry-after': '30' }),
};
