import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ServiceError } from '../../core/error.ts';
import { RETRY_AFTER_SECONDS, SPEECH_CALL_BYTES_MAX } from '../../core/limits.ts';
import { present } from '../../lib/present.ts';
import type { EmbeddingEngine, EngineOwner } from '../engine.ts';
import { createPlaces } from '../places.ts';
import { parseEmbedding, parseRecognition, parseVoice } from './parse-call.ts';
import type { Refusal, VoiceAnswer } from './protocol.ts';
import type { Recognizer } from './recognizer.ts';
import type { VoiceDetector } from './voice-detector.ts';

export interface SpeechServerNeeds {
  readonly recognizer?: Recognizer;
  readonly voice?: VoiceDetector;
  readonly embed?: EmbeddingEngine['embed'];
  /** Required as bearer where the socket is not a file in a closed folder. */
  readonly token: string | undefined;
  readonly queuePlacesMax: number;
  readonly queueWaitMsMax: number;
}

/**
 * The process's own small HTTP protocol (protocol.ts). One recognition, or one request for vectors, runs at a time, in turn
 * between owners. Voice waits for nobody: it takes a hundredth of the time, and is done between two of their steps.
 */
export function createSpeechServer(needs: SpeechServerNeeds): RequestListener {
  const { recognizer, voice, embed, token, queuePlacesMax, queueWaitMsMax } = needs;
  const places = createPlaces({ fits: ({ taken }) => taken === 0, queuePlacesMax, queueWaitMsMax });
  let held = 0;

  const inTurn = async <T>(owner: EngineOwner, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    const free = await places.take(1, { owner, signal });
    try {
      return await work();
    } finally {
      free();
    }
  };

  const routes: Readonly<Record<string, ((body: Uint8Array, signal: AbortSignal) => Promise<unknown>) | undefined>> = {
    'POST /recognize':
      recognizer &&
      (async (body, signal) => {
        const request = parseRecognition(body, recognizer.model);
        return await inTurn(request.owner, signal, () => recognizer.recognize(request, signal));
      }),
    'POST /voice':
      voice &&
      (async (body, signal): Promise<VoiceAnswer> => {
        const { samples, state } = parseVoice(body);
        const block = await voice.detect(samples, state, signal);
        return { probabilities: block.probabilities, state: Array.from(block.state) };
      }),
    'POST /embed':
      embed &&
      (async (body, signal) => {
        const request = parseEmbedding(body);
        return await inTurn(request.owner, signal, () => embed(request, signal));
      }),
  };

  const answerFrom = async (
    work: (body: Uint8Array, signal: AbortSignal) => Promise<unknown>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    response.on('error', () => undefined); // the peer left; `close` follows
    held++;
    try {
      // Each one who waits has a body here. The queue refuses before this does, where calls come one at a time.
      if (held > 2 * queuePlacesMax + 1) throw busy();
      answer(response, 200, await work(await readBody(request), gone.signal));
    } catch (error) {
      if (!gone.signal.aborted) refuse(response, error);
    } finally {
      held--;
    }
  };

  return (request, response) => {
    if (token !== undefined && !isSame(request.headers.authorization ?? '', `Bearer ${token}`)) {
      response.writeHead(401).end();
      return;
    }
    const route = `${request.method} ${request.url}`;
    if (route === 'GET /health') return answer(response, 200, {});
    const work = routes[route];
    if (work) void answerFrom(work, request, response);
    else response.writeHead(404).end();
  };
}

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    size += chunk.length;
    if (size > SPEECH_CALL_BYTES_MAX) throw new RangeError(`a call has at most ${SPEECH_CALL_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const busy = (): ServiceError =>
  new ServiceError('overloaded', 'Too many requests wait for the model, please try again later.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

/** Statuses are for people with curl; our client reads the kind. */
function refuse(response: ServerResponse, error: unknown): void {
  const refusal: Refusal =
    error instanceof ServiceError
      ? {
          kind: error.kind,
          message: error.message,
          ...present({ param: error.param, retryAfterSeconds: error.retryAfterSeconds }),
        }
      : error instanceof RangeError || error instanceof SyntaxError
        ? { kind: 'invalid-request', message: error.message }
        : {
            kind: 'engine-failed',
            message: 'The engine failed on this request.',
            detail: error instanceof Error ? `${error.stack}` : String(error),
          };
  answer(response, refusal.kind === 'invalid-request' ? 400 : 503, refusal);
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

const isSame = (given: string, wanted: string): boolean => {
  const a = Buffer.from(given);
  const b = Buffer.from(wanted);
  return a.length === b.length && timingSafeEqual(a, b);
};
