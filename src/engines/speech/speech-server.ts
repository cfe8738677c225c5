import { createQueueFullError, ENGINE_FAILED_MESSAGE } from '../../core/generation-errors.ts';
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ServiceError } from '../../core/error.ts';
import { RETRY_AFTER_SECONDS } from '../../core/limits.ts';
import { SPEECH_CALL_BYTES_MAX } from '../limits.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { EmbeddingEngine, EngineOwner } from '../engine.ts';
import { createFairSemaphore } from '../fair-semaphore.ts';
import { parseEmbeddingCall, parseRecognitionCall, parseVoiceCall } from './parse-call.ts';
import type { CallErrorBody, VoiceResponse } from './protocol.ts';
import type { Recognizer } from './recognizer.ts';
import type { VoiceDetector } from './energy-detector.ts';

export interface SpeechServerDeps {
  readonly recognizer?: Recognizer;
  readonly voice?: VoiceDetector;
  readonly embed?: EmbeddingEngine['embed'];
  /** Required as bearer token if the socket is not a file in a protected folder. */
  readonly token: string | undefined;
  readonly queueLengthMax: number;
  readonly queueWaitMsMax: number;
}

/**
 * Creates the HTTP handler of the process (protocol.ts). Recognitions and embeddings run one at a time; owners take
 * turns. Voice detection does not wait: it needs 1 % of the time and runs between two decoder steps.
 */
export function createSpeechServer(deps: SpeechServerDeps): RequestListener {
  const { recognizer, voice, embed, token, queueLengthMax, queueWaitMsMax } = deps;
  const semaphore = createFairSemaphore({
    canAcquire: ({ taken }) => taken === 0,
    queueLengthMax,
    queueWaitMsMax,
  });
  let openCalls = 0;

  const runInTurn = async <T>(owner: EngineOwner, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    const release = await semaphore.acquire(1, { owner, signal });
    try {
      return await work();
    } finally {
      release();
    }
  };

  const routes: Readonly<Record<string, ((body: Uint8Array, signal: AbortSignal) => Promise<unknown>) | undefined>> = {
    'POST /recognize':
      recognizer &&
      (async (body, signal) => {
        const request = parseRecognitionCall(body, recognizer.model);
        return await runInTurn(request.owner, signal, () => recognizer.recognize(request, signal));
      }),
    'POST /voice':
      voice &&
      (async (body, signal): Promise<VoiceResponse> => {
        const { samples, state } = parseVoiceCall(body);
        const block = await voice.detect(samples, state, signal);
        return { probabilities: block.probabilities, state: Array.from(block.state) };
      }),
    'POST /embed':
      embed &&
      (async (body, signal) => {
        const request = parseEmbeddingCall(body);
        return await runInTurn(request.owner, signal, () => embed(request, signal));
      }),
  };

  const handleCall = async (
    work: (body: Uint8Array, signal: AbortSignal) => Promise<unknown>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const abort = new AbortController();
    response.on('close', () => abort.abort());
    response.on('error', () => undefined); // the peer left; `close` follows
    openCalls++;
    try {
      // Each waiting call holds its body in memory. Calls that arrive one at a time are rejected by the queue before
      // this.
      if (openCalls > 2 * queueLengthMax + 1) throw createQueueFullError(RETRY_AFTER_SECONDS);
      sendJson(response, 200, await work(await readBody(request), abort.signal));
    } catch (error) {
      if (!abort.signal.aborted) sendError(response, error);
    } finally {
      openCalls--;
    }
  };

  return (request, response) => {
    if (token !== undefined && !isEqualSecret(request.headers.authorization ?? '', `Bearer ${token}`)) {
      response.writeHead(401).end();
      return;
    }
    const route = `${request.method} ${request.url}`;
    if (route === 'GET /health') return sendJson(response, 200, {});
    const work = routes[route];
    if (work) void handleCall(work, request, response);
    else response.writeHead(404).end();
  };
}

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    size += chunk.length;
    if (size > SPEECH_CALL_BYTES_MAX)
      throw new RangeError(`the body of a call may have at most ${SPEECH_CALL_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Sends an error. The status is for manual calls; Parley's client reads the kind. */
function sendError(response: ServerResponse, error: unknown): void {
  const refusal: CallErrorBody =
    error instanceof ServiceError
      ? {
          kind: error.kind,
          message: error.message,
          ...omitNullish({ param: error.param, retryAfterSeconds: error.retryAfterSeconds }),
        }
      : error instanceof RangeError || error instanceof SyntaxError
        ? { kind: 'invalid-request', message: error.message }
        : {
            kind: 'engine-failed',
            message: ENGINE_FAILED_MESSAGE,
            detail: error instanceof Error ? `${error.stack}` : String(error),
          };
  sendJson(response, refusal.kind === 'invalid-request' ? 400 : 503, refusal);
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

const isEqualSecret = (given: string, expected: string): boolean => {
  const a = Buffer.from(given);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
};
