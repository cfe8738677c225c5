import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { ModelEntry } from '../../catalogue/model.ts';
import type { GenerationEvent } from '../../core/event.ts';
import { systemIds } from '../../core/id.ts';
import type { Facts, Log, Meter, RequestMeasure } from '../../core/telemetry.ts';
import type { Generate } from '../../generation/generation.ts';
import { systemClock } from '../../lib/clock.ts';
import { chatCompletions } from '../../protocols/compatible/chat-completions/endpoint.ts';
import { modelGet, modelList } from '../../protocols/compatible/models/endpoint.ts';
import type { Endpoint } from '../../protocols/endpoint.ts';
import { ServiceError } from '../../core/error.ts';
import type { SecretCheck } from '../authenticate.ts';
import { createHttp } from '../server.ts';
import type { Http, HttpNeeds } from '../server.ts';

// For tests of this room: the whole front with a scripted generation behind it, on real sockets.

const KEYS: Readonly<Record<string, SecretCheck>> = {
  'sk-good': { status: 'valid', record: { id: 'key_1', region: 'cn-beijing', workspace: 'primary' } },
  'sk-sub': { status: 'valid', record: { id: 'key_2', region: 'cn-beijing', workspace: 'sub' } },
  'sk-singapore': { status: 'valid', record: { id: 'key_3', region: 'ap-southeast-1', workspace: 'primary' } },
  'sk-virginia': { status: 'valid', record: { id: 'key_4', region: 'us-east-1', workspace: 'primary' } },
  'sk-hongkong': { status: 'valid', record: { id: 'key_5', region: 'cn-hongkong', workspace: 'primary' } },
  'sk-capitals': { status: 'valid', record: { id: 'key_6', region: 'cn-beijing', workspace: 'Team-A' } },
  'sk-revoked': { status: 'revoked' },
  'sk-expired': { status: 'expired' },
};

const ENTRY: ModelEntry = {
  name: 'svc-plus',
  description: '',
  runs: { type: 'weights', weights: 'w', family: 'f' },
  contextTokens: 4096,
  abilities: { tools: true, vision: false, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['chat'],
  sampling: {},
  created: 1_735_120_033,
};

export const catalogue = () => ({
  list: () => [ENTRY],
  find: (name: string) => (name === ENTRY.name ? ENTRY : undefined),
  resolve(name: string) {
    if (name === ENTRY.name) return { asked: name, entry: ENTRY };
    throw new ServiceError('model-not-found', `The model \`${name}\` does not exist or you do not have access to it.`);
  },
});

export const START: GenerationEvent = { type: 'start', inputTokens: 3, cachedTokens: 0 };
export const OPEN: GenerationEvent = { type: 'block-start', choice: 0, index: 0, block: { type: 'text' } };
export const say = (text: string): GenerationEvent => ({ type: 'block-delta', choice: 0, index: 0, text });
export const END: readonly GenerationEvent[] = [
  { type: 'block-end', choice: 0, index: 0 },
  { type: 'choice-end', choice: 0, reason: 'stop' },
  { type: 'end', usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 2 } },
];

/** A generation that says the same to everybody, and hears no field that we do not know. */
export const saying =
  (...batches: readonly (readonly GenerationEvent[])[]): Generate =>
  ({ further }, _on, { log }) => {
    log.add({ promptTokens: 3, completionTokens: 2 });
    return Promise.resolve({ batches: of(batches), ignored: Object.keys(further ?? {}) });
  };

export async function* of<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

const HELLO = saying([START, OPEN, say('Hel')], [say('lo'), ...END]);

export interface TestHttp extends AsyncDisposable {
  readonly http: Http;
  readonly url: string;
  readonly port: number;
  readonly ports: readonly number[];
  readonly lines: Facts[];
  readonly measures: RequestMeasure[];
  /** POST of a chat completion with a good key. */
  chat(fields?: object, init?: RequestInit): Promise<Response>;
}

/** No model here translates. */
export const untranslated = (): Promise<never> => Promise.reject(new Error('nothing is translated here'));

export async function startHttp(
  needs: Partial<HttpNeeds> & { readonly generate?: Generate; readonly more?: readonly Endpoint[] } = {},
): Promise<TestHttp> {
  const lines: Facts[] = [];
  const measures: RequestMeasure[] = [];
  const generate = needs.generate ?? HELLO;
  const http = await createHttp({
    endpoints: [
      chatCompletions({ generate, translate: untranslated, catalogue, clock: systemClock }),
      modelList({ catalogue, served: ['chat'] }),
      modelGet({ catalogue, served: ['chat'] }),
      ...(needs.more ?? []),
    ],
    listeners: [{ host: '127.0.0.1', port: 0, region: 'cn-beijing' }],
    authenticate: (secret) => Promise.resolve(KEYS[secret] ?? { status: 'unknown' }),
    probes: { ready: () => Promise.resolve({ ready: true }) },
    log: collectingLog(lines),
    meter: collectingMeter(measures),
    ids: systemIds,
    clock: systemClock,
    ...needs,
  });
  const bound = await http.listen();
  const port = bound[0]?.port ?? 0;
  const url = `http://127.0.0.1:${port}`;
  return {
    http,
    url,
    port,
    ports: bound.map((each) => each.port),
    lines,
    measures,
    chat: (fields = {}, init = {}) =>
      fetch(`${url}/compatible-mode/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: 'Bearer sk-good', 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'svc-plus', messages: [{ role: 'user', content: 'Hi' }], ...fields }),
        ...init,
      }),
    [Symbol.asyncDispose]: () => http.close({ graceMs: 0 }),
  };
}

/** A socket, and everything it has said so far. */
export interface RawPeer extends Disposable {
  readonly socket: Socket;
  /** What was received until `part` stood in it, or until the end. */
  until(part: string): Promise<string>;
  /** Everything until the other side closed. */
  rest(): Promise<string>;
}

export function connectRaw(port: number, text: string): RawPeer {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  let isClosed = false;
  let look: (() => void) | undefined;
  socket.setEncoding('utf8');
  socket.on('data', (piece: string) => {
    received += piece;
    look?.();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
    look?.();
  });
  socket.write(text);
  const when = (isThere: () => boolean): Promise<string> =>
    new Promise((resolve) => {
      look = () => {
        if (isThere() || isClosed) resolve(received);
      };
      look();
    });
  return {
    socket,
    until: (part) => when(() => received.includes(part)),
    rest: () => when(() => false),
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

const CHAT_BODY = JSON.stringify({
  model: 'svc-plus',
  stream: true,
  messages: [{ role: 'user', content: 'Hi' }],
});

/** The text of a chat request; `headers` one per line. */
export const chatRequest = (body = CHAT_BODY, headers: readonly string[] = []): string =>
  [
    'POST /v1/chat/completions HTTP/1.1',
    'host: localhost',
    'authorization: Bearer sk-good',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...headers,
    '',
    body,
  ].join('\r\n');

const collectingLog = (lines: Facts[]): Log => ({
  info: (message, facts) => void lines.push({ message, level: 'info', ...facts }),
  warn: (message, facts) => void lines.push({ message, level: 'warn', ...facts }),
  error: (message, facts) => void lines.push({ message, level: 'error', ...facts }),
});

const collectingMeter = (measures: RequestMeasure[]): Meter => ({
  requestEnded: (measure) => void measures.push(measure),
  streamOpened: () => () => undefined,
  jobStarted: () => () => undefined,
  expose: () => Promise.resolve({ contentType: 'text/plain', text: 'requests 1\n' }),
});
