// Chat completions server with prepared answers. It costs little more than node:http, so that it limits no proxy.
// `max_tokens` of a request sets the number of tokens. Each token is one write, at the pace that was set last.
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveRequests } from '../child.ts';

const PROMPT_TOKENS = 12;
const RESPONSE_FIELDS = { id: 'chatcmpl-0123456789abcdef0123456789abcdef', created: 1_760_000_000, model: 'bench' };
const JSON_TYPE = { 'content-type': 'application/json' };

const createFrame = (fields: object): Buffer =>
  Buffer.from(`data: ${JSON.stringify({ ...RESPONSE_FIELDS, object: 'chat.completion.chunk', ...fields })}\n\n`);
const createChunk = (delta: object, reason: string | null = null): Buffer =>
  createFrame({ choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }] });
const createUsage = (tokens: number): object => ({
  prompt_tokens: PROMPT_TOKENS,
  completion_tokens: tokens,
  total_tokens: PROMPT_TOKENS + tokens,
});

const FIRST_CHUNK = createChunk({ role: 'assistant', content: '' });
const WORD_CHUNK = createChunk({ content: 'word ' });
const FINISH_CHUNK = createChunk({}, 'stop');
const DONE_FRAME = Buffer.from('data: [DONE]\n\n');

/** Milliseconds between two tokens of a stream; 0 sends one token per turn of the event loop. */
let paceMs = 0;

const createFrames = (tokens: number, withUsage: boolean): readonly Buffer[] => [
  Buffer.concat([FIRST_CHUNK, WORD_CHUNK]),
  ...Array.from({ length: tokens - 2 }, () => WORD_CHUNK),
  Buffer.concat([
    WORD_CHUNK,
    FINISH_CHUNK,
    ...(withUsage ? [createFrame({ choices: [], usage: createUsage(tokens) })] : []),
    DONE_FRAME,
  ]),
];
const framesByKey = new Map<string, readonly Buffer[]>();

function getFrames(tokens: number, withUsage: boolean): readonly Buffer[] {
  const key = `${tokens} ${withUsage}`;
  const frames = framesByKey.get(key) ?? createFrames(tokens, withUsage);
  framesByKey.set(key, frames);
  return frames;
}

function writeStream(response: ServerResponse, frames: readonly Buffer[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  let at = 0;
  const writeNext = (): boolean => {
    response.write(frames[at++]);
    if (at < frames.length && !response.destroyed) return true;
    response.end();
    return false;
  };
  if (paceMs === 0) {
    const writeAndSchedule = (): void => void (writeNext() && setImmediate(writeAndSchedule));
    return writeAndSchedule();
  }
  // Follows the clock, so that a delay of one token does not delay the next, like a model on another machine.
  const gapMs = paceMs;
  const startedAt = performance.now();
  const writeDueFrames = (): void => {
    while (performance.now() >= startedAt + at * gapMs) if (!writeNext()) return;
    setTimeout(writeDueFrames, Math.max(1, startedAt + at * gapMs - performance.now()));
  };
  writeDueFrames();
}

const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (text += chunk));
  request.on('end', () => {
    if (request.method === 'GET' && request.url === '/v1/models') {
      response.writeHead(200, JSON_TYPE);
      return void response.end(
        JSON.stringify({ object: 'list', data: [{ id: RESPONSE_FIELDS.model, object: 'model' }] }),
      );
    }
    if (request.url !== '/v1/chat/completions') return void response.writeHead(404, JSON_TYPE).end('{}');
    const requestBody = JSON.parse(text) as {
      stream?: boolean;
      max_tokens?: number;
      max_completion_tokens?: number;
      stream_options?: { include_usage?: boolean };
    };
    const tokens = requestBody.max_tokens ?? requestBody.max_completion_tokens ?? 64;
    if (requestBody.stream)
      return writeStream(response, getFrames(tokens, requestBody.stream_options?.include_usage === true));
    const message = { role: 'assistant', content: 'word '.repeat(tokens) };
    const answer = JSON.stringify({
      ...RESPONSE_FIELDS,
      object: 'chat.completion',
      choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
      usage: createUsage(tokens),
    });
    response.writeHead(200, { ...JSON_TYPE, 'content-length': Buffer.byteLength(answer) });
    response.end(answer);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', 1024, () =>
  serveRequests((question) => {
    if (question === 'port') return (server.address() as AddressInfo).port;
    ({ paceMs } = question as { paceMs: number });
    return 'ok';
  }),
);
