import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { timingSafeEqual } from 'node:crypto';
import type { NativeModel } from './native-model.ts';
import type { Embed } from './embed.ts';
import { parseEmbeddingRequest } from '../call-fields.ts';
import { parseCall, parseInput, parseRankingRequest } from './parse-call.ts';
import type { Rank } from './rank.ts';
import { RefusedError } from './refused-error.ts';
import type { FailureKind, Refusal, TokenInput } from './protocol.ts';
import type { Scheduler } from './scheduler.ts';
import { tokensToTell } from './tokenize-input.ts';

/** HTTP status of a refusal, for people with curl; our client reads the kind. */
const STATUS: Record<FailureKind, number> = {
  'too-long': 400,
  'slow-reader': 408,
  unsupported: 400,
  invalid: 400,
  'queue-full': 503,
  'queue-wait': 503,
  'key-share': 429,
  draining: 503,
  internal: 500,
};

/** Ours: bytes of a call. The API process has checked its own, smaller limit already. */
const BODY_BYTES_MAX = 256 * 1024 * 1024;

interface Needs {
  readonly model: NativeModel;
  readonly scheduler: Scheduler;
  readonly embed: Embed;
  readonly rank: Rank;
  /** Required as bearer where the socket is not a file in a closed folder. */
  readonly token: string | undefined;
}

/** The engine's own small HTTP protocol (protocol.ts). */
export function createEngineServer({ model, scheduler, embed, rank, token }: Needs): RequestListener {
  return (request, response) => {
    if (token !== undefined && !isSame(request.headers.authorization ?? '', `Bearer ${token}`)) {
      response.writeHead(401).end();
      return;
    }
    const route = `${request.method} ${request.url}`;
    switch (route) {
      case 'GET /model':
        return answer(response, 200, model.loaded);
      case 'GET /health':
        return answer(response, 200, scheduler.health());
      case 'POST /count':
        return void readJson(request, response, (body) =>
          tokenized(response, body, (input) => ({ tokens: tokensToTell(model, input).length })),
        );
      case 'POST /tokenize':
        return void readJson(request, response, (body) =>
          tokenized(response, body, (input) => ({
            tokens: tokensToTell(model, input).map((id) => ({ id, text: textOf(model, id) })),
          })),
        );
      case 'POST /embed':
        return void readJson(request, response, (body) =>
          whole(response, (signal) => embed(parseEmbeddingRequest(body), signal)),
        );
      case 'POST /rank':
        return void readJson(request, response, (body) =>
          whole(response, (signal) => rank(parseRankingRequest(body), signal)),
        );
      case 'POST /generate':
        return void readJson(request, response, (body) => generate(scheduler, request, response, body));
      default:
        response.writeHead(404).end();
    }
  };
}

function tokenized(response: ServerResponse, body: unknown, answerOf: (input: TokenInput) => unknown): void {
  const { input } = Object(body) as { input?: unknown };
  answer(response, 200, answerOf(parseInput(input)));
}

const decoder = new TextDecoder();

const textOf = (model: NativeModel, token: number): string => decoder.decode(model.tokenBytes(token));

/** One answer, when all of it is there; a closed connection ends the work for it. */
async function whole(response: ServerResponse, work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  response.on('error', () => undefined); // the peer left; `close` follows
  try {
    answer(response, 200, await work(gone.signal));
  } catch (error) {
    if (gone.signal.aborted) return;
    if (error instanceof RefusedError) return refuse(response, error.refusal);
    const kind = error instanceof RangeError ? 'invalid' : 'internal';
    refuse(response, { kind, message: error instanceof Error ? error.message : String(error) });
  }
}

function generate(scheduler: Scheduler, request: IncomingMessage, response: ServerResponse, body: unknown): void {
  let isGone = false;
  const running = scheduler.submit(parseCall(body), {
    send(lines) {
      if (isGone) return true;
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      let text = '';
      for (const line of lines) text += `${JSON.stringify(line)}\n`;
      return response.write(text);
    },
    refuse(refusal) {
      if (!isGone) refuse(response, refusal);
    },
    end() {
      if (!isGone) response.end();
    },
  });
  response.on('drain', () => running.resume());
  response.on('close', () => {
    isGone = true;
    if (!response.writableFinished) running.cancel();
  });
  response.on('error', () => undefined); // the peer left; `close` follows
  request.on('error', () => undefined);
}

async function readJson(
  request: IncomingMessage,
  response: ServerResponse,
  use: (body: unknown) => void | Promise<void>,
): Promise<void> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request) {
      if (!Buffer.isBuffer(chunk)) continue;
      size += chunk.length;
      if (size > BODY_BYTES_MAX) return refuse(response, { kind: 'invalid', message: 'the call is too large' });
      chunks.push(chunk);
    }
    await use(JSON.parse(Buffer.concat(chunks).toString('utf8')));
  } catch (error) {
    if (!response.headersSent && !response.destroyed)
      refuse(response, { kind: 'invalid', message: error instanceof Error ? error.message : String(error) });
  }
}

const refuse = (response: ServerResponse, refusal: Refusal): void => answer(response, STATUS[refusal.kind], refusal);

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

const isSame = (given: string, wanted: string): boolean => {
  const a = Buffer.from(given);
  const b = Buffer.from(wanted);
  return a.length === b.length && timingSafeEqual(a, b);
};
