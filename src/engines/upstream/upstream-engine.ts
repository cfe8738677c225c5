import { validateHeaderValue } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import { systemIds } from '../../core/id.ts';
import type { Ids } from '../../core/id.ts';
import {
  CHOICES_MAX,
  TOKEN_ID_MAX,
  UPSTREAM_BODY_CHARACTERS_MAX,
  UPSTREAM_CONNECT_MS,
  UPSTREAM_FIRST_TOKEN_MS,
  UPSTREAM_IDLE_MS,
} from '../../core/limits.ts';
import type { TextEngine } from '../engine.ts';
import { createAnswer } from './answer.ts';
import type { Answer } from './answer.ts';
import { bodyText } from './body-text.ts';
import { createConnection } from './connection.ts';
import type { Call, UpstreamTimeouts } from './connection.ts';
import { refusalWords } from './error-words.ts';
import type { ErrorWords } from './error-words.ts';
import { eventStream } from './event-stream.ts';
import { createFaults } from './faults.ts';
import type { Faults } from './faults.ts';
import { requestBody } from './request-body.ts';

export interface UpstreamOptions {
  /** Base address (http or https) of the server; `/chat/completions` is put after its path. */
  readonly url: string;
  /** The model's name there. */
  readonly model: string;
  /** Sent as a bearer token to this address and nowhere else. */
  readonly apiKey?: string | undefined;
  /** Tokens of prompt and answer together, as the catalogue declares them. */
  readonly contextTokens: number;
  readonly timeouts?: Partial<UpstreamTimeouts>;
  readonly ids?: Pick<Ids, 'toolCall'>;
}

const TIMEOUTS: UpstreamTimeouts = {
  connectMs: UPSTREAM_CONNECT_MS,
  firstTokenMs: UPSTREAM_FIRST_TOKEN_MS,
  idleMs: UPSTREAM_IDLE_MS,
};

/**
 * One server that speaks the chat-completions format, as an engine: it renders prompts and parses outputs itself.
 *
 * `start` resolves with the head of the answer. An answer counts as finished when every choice has said why it ended;
 * anything less is a rejection, whatever the upstream's status or end mark.
 * @throws ServiceError `upstream-failed` when the key cannot stand in a header.
 */
export function createUpstreamEngine(options: UpstreamOptions): TextEngine {
  const { model, contextTokens, ids = systemIds } = options;
  const apiKey = options.apiKey === '' ? undefined : options.apiKey;
  const url = chatUrl(options.url);
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const faults = createFaults({ upstream: url.host, apiKey });
  checkKey(apiKey, faults);
  const connection = createConnection({ url, apiKey, timeouts, faults });

  return {
    state: 'ready',
    capabilities: {
      input: 'chat',
      logprobs: true,
      grammar: false,
      phases: false,
      cache: false,
      choicesMax: CHOICES_MAX,
    },
    async start(request, signal) {
      const body = JSON.stringify(requestBody(request, model));
      const call = await connection.post(body, { requestId: request.id, signal });
      if (call.response.statusCode !== 200) throw await refusalOf(call, faults);
      const answer = createAnswer(request, { newCallId: () => ids.toolCall(), faults });
      const isStream = mediaType(call.response) === 'text/event-stream';
      return {
        batches: isStream
          ? eventStream(call, { answer, idleMs: timeouts.idleMs, faults })
          : one(await wholeAnswer(call, answer, faults)),
      };
    },
    model: async () => ({
      contextTokens,
      // Not known here: which token ids there are is for the upstream to say.
      vocabularySize: TOKEN_ID_MAX + 1,
      specialTokens: [],
      bosToken: '',
      eosToken: '',
    }),
    async countTokens() {
      throw new ServiceError('unsupported', 'The model of this request runs on a server that does not count tokens.');
    },
    async tokenize() {
      throw new ServiceError(
        'unsupported',
        'The model of this request runs on a server that does not tell its tokens.',
      );
    },
    close: async () => connection.close(),
  };
}

function chatUrl(base: string): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/chat/completions`;
  return url;
}

function checkKey(apiKey: string | undefined, faults: Faults): void {
  if (apiKey === undefined) return;
  try {
    validateHeaderValue('authorization', apiKey);
  } catch {
    throw faults.failed('was not asked: its key (apiKeyEnv of the catalogue entry) holds a line break or the like');
  }
}

const mediaType = ({ headers }: IncomingMessage): string =>
  (headers['content-type'] ?? '').split(';', 1).join().trim().toLowerCase();

async function refusalOf({ response, watch, why }: Call, faults: Faults): Promise<ServiceError> {
  const retryAfter = Number(response.headers['retry-after'] ?? Number.NaN);
  try {
    const text = await bodyText(response, UPSTREAM_BODY_CHARACTERS_MAX);
    return faults.refused(
      response.statusCode,
      wordsIn(text),
      Number.isFinite(retryAfter) && retryAfter >= 0 ? Math.ceil(retryAfter) : undefined,
    );
  } catch (thrown) {
    return why(thrown);
  } finally {
    watch.rest();
  }
}

/** Only JSON is passed on in a message: anything else is a page for people, or a proxy's. */
function wordsIn(text: string | undefined): ErrorWords {
  try {
    return refusalWords(JSON.parse(text ?? ''));
  } catch {
    return {};
  }
}

/** An upstream that did not stream: the same events, all at once. */
async function wholeAnswer({ response, watch, why }: Call, answer: Answer, faults: Faults): Promise<EngineEvent[]> {
  const events: EngineEvent[] = [];
  try {
    const text = await bodyText(response, UPSTREAM_BODY_CHARACTERS_MAX);
    if (text === undefined) throw faults.failed(`sent more than ${UPSTREAM_BODY_CHARACTERS_MAX} characters`);
    if (text.trim() === '') throw faults.failed('answered 200 with nothing');
    answer.push(text, (event) => events.push(event));
    answer.end((event) => events.push(event));
    return events;
  } catch (thrown) {
    throw why(thrown);
  } finally {
    watch.rest();
  }
}

async function* one<T>(batch: T): AsyncGenerator<T, void> {
  yield batch;
}
