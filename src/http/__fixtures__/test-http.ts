import type { SocketEndpoint } from '../../protocols/socket-endpoint.ts';
import { connect, type Socket } from 'node:net';
import type { ModelEntry } from '../../catalogue/model.ts';
import type { GenerationEvent } from '../../core/event.ts';
import { systemIdGenerator } from '../../core/id.ts';
import type { LogFields, Log, Meter, RequestMeasurement } from '../../core/telemetry.ts';
import type { Generate } from '../../generation/generation.ts';
import { systemClock } from '../../lib/clock.ts';
import { createChatCompletionsEndpoint } from '../../protocols/compatible/chat-completions/endpoint.ts';
import { createModelGetEndpoint, createModelListEndpoint } from '../../protocols/compatible/models/endpoint.ts';
import type { Endpoint } from '../../protocols/endpoint.ts';
import { ServiceError } from '../../core/error.ts';
import type { SecretCheck } from '../authenticate.ts';
import { createHttpServer, type HttpServer, type HttpDeps } from '../http-server.ts';

// Starts the whole HTTP server with a scripted generation on real sockets.

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
  runner: { type: 'weights', weights: 'w', family: 'f' },
  contextTokens: 4096,
  abilities: { tools: true, vision: false, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['chat'],
  sampling: {},
  created: 1_735_120_033,
};

export const createTestCatalogue = () => ({
  listCallable: async () => [ENTRY],
  find: (name: string) => (name === ENTRY.name ? ENTRY : undefined),
  async resolve(name: string) {
    if (name === ENTRY.name) return { requestedName: name, entry: ENTRY };
    throw new ServiceError('model-not-found', `The model \`${name}\` does not exist or you do not have access to it.`);
  },
});

export const START_EVENT: GenerationEvent = { type: 'start', inputTokens: 3, cachedTokens: 0 };
export const BLOCK_START_EVENT: GenerationEvent = { type: 'block-start', choice: 0, index: 0, block: { type: 'text' } };
export const createTextDelta = (text: string): GenerationEvent => ({ type: 'block-delta', choice: 0, index: 0, text });
export const END_EVENTS: readonly GenerationEvent[] = [
  { type: 'block-end', choice: 0, index: 0 },
  { type: 'choice-end', choice: 0, reason: 'stop' },
  { type: 'end', usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 2 } },
];

/** Creates a generation that always emits `batches` and ignores unknown request fields. */
export const createScriptedGenerate =
  (...batches: readonly (readonly GenerationEvent[])[]): Generate =>
  ({ extraFields }, _on, { log }) => {
    log.add({ promptTokens: 3, completionTokens: 2 });
    return Promise.resolve({ batches: toAsyncIterable(batches), ignored: Object.keys(extraFields ?? {}) });
  };

export async function* toAsyncIterable<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

const HELLO_GENERATE = createScriptedGenerate([START_EVENT, BLOCK_START_EVENT, createTextDelta('Hel')], [createTextDelta('lo'), ...END_EVENTS]);

export interface TestHttp extends AsyncDisposable {
  readonly http: HttpServer;
  readonly url: string;
  readonly port: number;
  readonly ports: readonly number[];
  readonly logLines: LogFields[];
  readonly measurements: RequestMeasurement[];
  /** Sends a chat completion request with a valid key. */
  chat(fields?: object, init?: RequestInit): Promise<Response>;
}

/** Translation dependency for tests without a translation model. */
export const rejectTranslation = (): Promise<never> => Promise.reject(new Error('the test does not support translation'));

export async function startTestHttp(
  overrides: Partial<HttpDeps> & { readonly generate?: Generate; readonly more?: readonly Endpoint[] } = {},
): Promise<TestHttp> {
  const lines: LogFields[] = [];
  const measures: RequestMeasurement[] = [];
  const generate = overrides.generate ?? HELLO_GENERATE;
  const http = createHttpServer({
    endpoints: [
      createChatCompletionsEndpoint({ generate, translate: rejectTranslation, catalogue: createTestCatalogue, clock: systemClock }),
      createModelListEndpoint({ catalogue: createTestCatalogue, served: ['chat'] }),
      createModelGetEndpoint({ catalogue: createTestCatalogue, served: ['chat'] }),
      ...(overrides.more ?? []),
    ],
    listeners: [{ host: '127.0.0.1', port: 0, region: 'cn-beijing' }],
    authenticate: (secret) => Promise.resolve(KEYS[secret] ?? { status: 'unknown' }),
    probes: { checkReadiness: () => Promise.resolve({ ready: true }) },
    log: createCollectingLog(lines),
    meter: createCollectingMeter(measures),
    ids: systemIdGenerator,
    clock: systemClock,
    ...overrides,
  });
  const bound = await http.listen();
  const port = bound[0]?.port ?? 0;
  const url = `http://127.0.0.1:${port}`;
  return {
    http,
    url,
    port,
    ports: bound.map((each) => each.port),
    logLines: lines,
    measurements: measures,
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

/** A raw connection that records everything it receives. */
export interface RawConnection extends Disposable {
  readonly socket: Socket;
  /** Resolves with the received text once it contains `part`, or at the end of the connection. */
  readUntil(part: string): Promise<string>;
  /** Resolves with the received text when the connection is closed. */
  readToEnd(): Promise<string>;
}

export function connectRaw(port: number, text: string): RawConnection {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  let isClosed = false;
  let checkNow: (() => void) | undefined;
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    received += chunk;
    checkNow?.();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
    checkNow?.();
  });
  socket.write(text);
  const readWhen = (isComplete: () => boolean): Promise<string> =>
    new Promise((resolve) => {
      checkNow = () => {
        if (isComplete() || isClosed) resolve(received);
      };
      checkNow();
    });
  return {
    socket,
    readUntil: (part) => readWhen(() => received.includes(part)),
    readToEnd: () => readWhen(() => false),
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

const CHAT_BODY = JSON.stringify({
  model: 'svc-plus',
  stream: true,
  messages: [{ role: 'user', content: 'Hi' }],
});

/** Formats a raw chat request. `headers` are complete header lines. */
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

const createCollectingLog = (lines: LogFields[]): Log => ({
  info: (message, fields) => void lines.push({ message, level: 'info', ...fields }),
  warn: (message, fields) => void lines.push({ message, level: 'warn', ...fields }),
  error: (message, fields) => void lines.push({ message, level: 'error', ...fields }),
});

const createCollectingMeter = (measures: RequestMeasurement[]): Meter => ({
  recordRequest: (measure) => void measures.push(measure),
  trackStream: () => () => undefined,
  trackSocket: () => () => undefined,
  trackRecognition: () => () => undefined,
  trackJob: () => () => undefined,
  recordWeightsCheck: () => undefined,
  recordDamage: () => undefined,
  renderMetrics: () => Promise.resolve({ contentType: 'text/plain', text: 'requests 1\n' }),
});

/** A websocket that sends every text message back, and at an abort the reason. */
export const ECHO_SOCKET: SocketEndpoint = {
  operation: 'realtime.connect',
  path: '/api-ws/v1/inference',
  family: 'native',
  regions: ['cn-beijing'],
  open: (peer) => ({
    onText: (message) => peer.send(message),
    onBinary: () => undefined,
    onTick: () => undefined,
    drain: () => undefined,
    abort: (reason) => {
      peer.send(reason.message);
      peer.close(1008, 'revoked');
    },
    onDisconnect: () => undefined,
  }),
};
