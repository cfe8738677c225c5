import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { timingSafeEqual } from 'node:crypto';
import type { NativeModel } from './native-model.ts';
import type { EmbedInputs } from './embed.ts';
import { parseEmbeddingRequest } from '../field-checks.ts';
import { parseGenerateCall, parseRankingRequest, parseTokenizeCall } from './parse-generate-call.ts';
import type { RankDocuments } from './rank.ts';
import { RefusalError } from './refusal-error.ts';
import type { FailureKind, EngineRefusal } from './protocol.ts';
import type { Scheduler } from './scheduler.ts';
import { selectCallerTokenizer } from './tokenize-input.ts';

/** HTTP status of each failure kind, for people who use curl; Parley's client reads the kind. */
const HTTP_STATUS_BY_FAILURE: Record<FailureKind, number> = {
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

/** Size limit of a request body, in bytes. Chosen by Parley; the API process enforces its own, smaller limit before. */
const BODY_BYTES_MAX = 256 * 1024 * 1024;

interface EngineServerDeps {
  readonly model: NativeModel;
  readonly scheduler: Scheduler;
  readonly embed: EmbedInputs;
  readonly rank: RankDocuments;
  /** Bearer token that requests must present; used where the socket is not a file in a folder with mode 0700. */
  readonly token: string | undefined;
}

/** Serves the HTTP protocol of the engine process (protocol.ts). */
export function createEngineServer({ model, scheduler, embed, rank, token }: EngineServerDeps): RequestListener {
  const tokenize = async (body: unknown, signal: AbortSignal): Promise<readonly number[]> => {
    const { input, owner } = parseTokenizeCall(body);
    const tokenizer = selectCallerTokenizer(model, input);
    return (await scheduler.tokenizeInTurn(tokenizer, input, { owner, signal })).tokens;
  };
  return (request, response) => {
    if (token !== undefined && !isEqualConstantTime(request.headers.authorization ?? '', `Bearer ${token}`)) {
      response.writeHead(401).end();
      return;
    }
    const route = `${request.method} ${request.url}`;
    switch (route) {
      case 'GET /model':
        return sendJson(response, 200, model.loaded);
      case 'GET /health':
        return sendJson(response, 200, scheduler.health());
      case 'POST /count':
        return void readJson(request, response, (body) =>
          respondWithResult(response, async (signal) => ({ tokens: (await tokenize(body, signal)).length })),
        );
      case 'POST /tokenize':
        return void readJson(request, response, (body) =>
          respondWithResult(response, async (signal) => ({
            tokens: (await tokenize(body, signal)).map((id) => ({ id, text: decodeToken(model, id) })),
          })),
        );
      case 'POST /embed':
        return void readJson(request, response, (body) =>
          respondWithResult(response, (signal) => embed(parseEmbeddingRequest(body), signal)),
        );
      case 'POST /rank':
        return void readJson(request, response, (body) =>
          respondWithResult(response, (signal) => rank(parseRankingRequest(body), signal)),
        );
      case 'POST /generate':
        return void readJson(request, response, (body) => generate(scheduler, request, response, body));
      default:
        response.writeHead(404).end();
    }
  };
}

const decoder = new TextDecoder();

const decodeToken = (model: NativeModel, token: number): string => decoder.decode(model.tokenBytes(token));

/** Sends the result of `work` as one response. If the client closes the connection, the signal aborts. */
async function respondWithResult(
  response: ServerResponse,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const closed = new AbortController();
  response.on('close', () => closed.abort());
  response.on('error', () => undefined); // the client disconnected; `close` follows
  try {
    sendJson(response, 200, await work(closed.signal));
  } catch (error) {
    if (closed.signal.aborted) return;
    if (error instanceof RefusalError) return sendRefusal(response, error.refusal);
    const kind = error instanceof RangeError ? 'invalid' : 'internal';
    sendRefusal(response, { kind, message: error instanceof Error ? error.message : String(error) });
  }
}

function generate(scheduler: Scheduler, request: IncomingMessage, response: ServerResponse, body: unknown): void {
  let isClosed = false;
  const run = scheduler.submit(parseGenerateCall(body), {
    send(lines) {
      if (isClosed) return true;
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      let text = '';
      for (const line of lines) text += `${JSON.stringify(line)}\n`;
      return response.write(text);
    },
    refuse(refusal) {
      if (!isClosed) sendRefusal(response, refusal);
    },
    end() {
      if (!isClosed) response.end();
    },
  });
  response.on('drain', () => run.resume());
  response.on('close', () => {
    isClosed = true;
    if (!response.writableFinished) run.cancel();
  });
  response.on('error', () => undefined); // the client disconnected; `close` follows
  request.on('error', () => undefined);
}

async function readJson(
  request: IncomingMessage,
  response: ServerResponse,
  handle: (body: unknown) => void | Promise<void>,
): Promise<void> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request) {
      if (!Buffer.isBuffer(chunk)) continue;
      size += chunk.length;
      if (size > BODY_BYTES_MAX)
        return sendRefusal(response, { kind: 'invalid', message: 'the request body is too large' });
      chunks.push(chunk);
    }
    await handle(JSON.parse(Buffer.concat(chunks).toString('utf8')));
  } catch (error) {
    if (!response.headersSent && !response.destroyed)
      sendRefusal(response, { kind: 'invalid', message: error instanceof Error ? error.message : String(error) });
  }
}

const sendRefusal = (response: ServerResponse, refusal: EngineRefusal): void =>
  sendJson(response, HTTP_STATUS_BY_FAILURE[refusal.kind], refusal);

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

const isEqualConstantTime = (received: string, expected: string): boolean => {
  const a = Buffer.from(received);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
};
