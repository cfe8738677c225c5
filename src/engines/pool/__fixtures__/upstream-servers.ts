import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a server does with a question for an answer. */
export type Play = (response: ServerResponse, request: IncomingMessage) => void;

export interface FixtureServer {
  readonly url: string;
  readonly host: string;
  play: Play;
  /** Questions for answers that it was asked. */
  asked: number;
  /** Of those, how many connections their caller has closed before the end. */
  left: number;
  /** As if the machine was not there: nothing listens any more. */
  stop(): Promise<void>;
}

/** A chat-completions server on the loopback that fails as it is told to. Questions of what it is are always answered. */
export async function createFixtureServer(first: Play): Promise<FixtureServer> {
  const server: Server = createServer((request, response) => {
    request.resume();
    if (request.method === 'GET') return reply(200, { object: 'list', data: [{ id: 'their-model' }] })(response, request);
    fixture.asked++;
    response.on('close', () => {
      if (!response.writableFinished) fixture.left++;
    });
    return fixture.play(response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const fixture: FixtureServer = {
    url: `http://127.0.0.1:${port}/v1`,
    host: `127.0.0.1:${port}`,
    play: first,
    asked: 0,
    left: 0,
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return fixture;
}

const frame = (value: unknown): string => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
const say = (content: string): string => frame({ choices: [{ index: 0, delta: { content } }] });
const END = [
  frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  frame({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }),
  frame('[DONE]'),
].join('');

export const reply =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Play =>
  (response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body));

const stream =
  (then: (response: ServerResponse) => void): Play =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    then(response);
  };

const streamed = (...pieces: readonly (string | Uint8Array)[]): Play =>
  stream((response) => response.end(Buffer.concat(pieces.map((piece) => Buffer.from(piece)))));

/** The text of a whole answer. */
export const WORDS = 'naïve 漢字 🙂';
const GOOD = Buffer.from(say('naïve ') + say('漢字 🙂') + END);

export const answers: Play = streamed(GOOD);

/** A piece at a time, in halves of characters, and each as late as the event loop lets it. */
export const drips: Play = stream((response) => {
  let at = 0;
  const next = (): void => {
    if (response.destroyed) return;
    response.write(GOOD.subarray(at, at + 9));
    at += 9;
    if (at < GOOD.length) setImmediate(next);
    else response.end();
  };
  next();
});

/** Always something, never an event. */
const dripsNothing: Play = stream((response) => {
  const timer = setInterval(() => response.write(': still here\n'), 20);
  response.on('close', () => clearInterval(timer));
});

/** Dies after its first event was read. */
export const diesInMidAnswer: Play = stream((response) => {
  response.write(say('naïve '), () => setTimeout(() => response.destroy(), 20));
});

/** Ways to fail before the first event. */
export const FAULTS: Readonly<Record<string, Play>> = {
  'closes the connection': (response) => response.destroy(),
  'dies after its head': stream((response) => setImmediate(() => response.destroy())),
  'hangs without a head': () => undefined,
  'hangs after its head': stream(() => undefined),
  'drips comments only': dripsNothing,
  'sends garbage': streamed('data: {"choices": [{]\n\n'),
  'sends a page': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>'),
  'sends an error in a 200': streamed(frame({ error: { message: 'CUDA out of memory', code: 500 } })),
  'sends an error in a whole 200': reply(200, { error: { message: 'out of memory' } }),
  'sends an empty 200': (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(),
  'sends an empty stream': streamed(''),
  'sends the end mark only': streamed(frame('[DONE]')),
  'ends in half a character': streamed(Buffer.from(say('漢')).subarray(0, -10)),
  'answers 500': reply(500, { error: { message: 'worker died' } }),
  'answers 502 with a page': reply(502, '<h1>Bad gateway</h1>', { 'content-type': 'text/html' }),
  'answers 401': reply(401, { error: { message: 'wrong key' } }),
  'answers 404': reply(404, { error: { message: 'no such model' } }),
  redirects: reply(307, '', { location: 'http://127.0.0.1:9/' }),
  'is busy': reply(429, { error: { message: 'slow down' } }, { 'retry-after': '30' }),
};
