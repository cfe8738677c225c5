// A chat-completions server with prepared answers: what it costs is nearly all node:http, so that it limits no proxy.
// `max_tokens` of a request says how many tokens come; one write a token, by the pace that was last set.
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerQuestions } from '../child.ts';

const PROMPT_TOKENS = 12;
const ABOUT = { id: 'chatcmpl-0123456789abcdef0123456789abcdef', created: 1_760_000_000, model: 'bench' };
const JSON_TYPE = { 'content-type': 'application/json' };

const frame = (more: object): Buffer =>
  Buffer.from(`data: ${JSON.stringify({ ...ABOUT, object: 'chat.completion.chunk', ...more })}\n\n`);
const piece = (delta: object, reason: string | null = null): Buffer =>
  frame({ choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }] });
const usageOf = (tokens: number): object => ({
  prompt_tokens: PROMPT_TOKENS,
  completion_tokens: tokens,
  total_tokens: PROMPT_TOKENS + tokens,
});

const OPENING = piece({ role: 'assistant', content: '' });
const WORD = piece({ content: 'word ' });
const FINISH = piece({}, 'stop');
const DONE = Buffer.from('data: [DONE]\n\n');

/** Milliseconds between two tokens of a stream; 0: one a turn of the event loop. */
let paceMs = 0;

const framesOf = (tokens: number, withUsage: boolean): readonly Buffer[] => [
  Buffer.concat([OPENING, WORD]),
  ...Array.from({ length: tokens - 2 }, () => WORD),
  Buffer.concat([WORD, FINISH, ...(withUsage ? [frame({ choices: [], usage: usageOf(tokens) })] : []), DONE]),
];
const prepared = new Map<string, readonly Buffer[]>();

function streamed(tokens: number, withUsage: boolean): readonly Buffer[] {
  const key = `${tokens} ${withUsage}`;
  const frames = prepared.get(key) ?? framesOf(tokens, withUsage);
  prepared.set(key, frames);
  return frames;
}

function stream(response: ServerResponse, frames: readonly Buffer[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  let at = 0;
  const next = (): boolean => {
    response.write(frames[at++]);
    if (at < frames.length && !response.destroyed) return true;
    response.end();
    return false;
  };
  if (paceMs === 0) {
    const turn = (): void => void (next() && setImmediate(turn));
    return turn();
  }
  // By the clock: who is late for one token is not late for the next, as with a model on a machine of its own.
  const gapMs = paceMs;
  const startedAt = performance.now();
  const inTime = (): void => {
    while (performance.now() >= startedAt + at * gapMs) if (!next()) return;
    setTimeout(inTime, Math.max(1, startedAt + at * gapMs - performance.now()));
  };
  inTime();
}

const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (text += chunk));
  request.on('end', () => {
    if (request.method === 'GET' && request.url === '/v1/models') {
      response.writeHead(200, JSON_TYPE);
      return void response.end(JSON.stringify({ object: 'list', data: [{ id: ABOUT.model, object: 'model' }] }));
    }
    if (request.url !== '/v1/chat/completions') return void response.writeHead(404, JSON_TYPE).end('{}');
    const asked = JSON.parse(text) as {
      stream?: boolean;
      max_tokens?: number;
      max_completion_tokens?: number;
      stream_options?: { include_usage?: boolean };
    };
    const tokens = asked.max_tokens ?? asked.max_completion_tokens ?? 64;
    if (asked.stream) return stream(response, streamed(tokens, asked.stream_options?.include_usage === true));
    const message = { role: 'assistant', content: 'word '.repeat(tokens) };
    const answer = JSON.stringify({
      ...ABOUT,
      object: 'chat.completion',
      choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
      usage: usageOf(tokens),
    });
    response.writeHead(200, { ...JSON_TYPE, 'content-length': Buffer.byteLength(answer) });
    response.end(answer);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', 1024, () =>
  answerQuestions((question) => {
    if (question === 'port') return (server.address() as AddressInfo).port;
    ({ paceMs } = question as { paceMs: number });
    return 'ok';
  }),
);
