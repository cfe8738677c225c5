import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { ServiceError } from '../../../core/error.ts';
import { NO_STOP } from '../../../core/request.ts';
import type { EngineRequest } from '../../engine.ts';
import { openEventBatches } from '../../remote/open-event-batches.ts';
import { createUpstreamErrorFactory } from '../../remote/upstream-error-factory.ts';
import { createStepTimer } from '../../remote/step-timer.ts';
import type { CompletionDialect, CompletionEvent, PhaseCall, CompletionServerMetadata, CallAcceptance } from '../completion-dialect.ts';

export const TEST_METADATA: CompletionServerMetadata = {
  model: { contextTokens: 100, vocabularySize: 1_000, specialTokens: [], bosToken: '', eosToken: '' },
  markupInText: [],
};

export const TEST_CALL: PhaseCall = { prompt: [1, 2], tokensMax: 9, sampling: {}, endTokens: [], markers: new Map() };

/** Request for one answer without options. */
export const REQUEST: EngineRequest = {
  id: 'r1',
  owner: { workspace: 'primary', key: 'key_1' },
  input: { type: 'tokens', tokens: [1, 2] },
  sampling: {},
  stop: NO_STOP,
  choices: 1,
  phases: [],
};

export interface ParsedTestResponse {
  readonly events: readonly CompletionEvent[];
  readonly acceptances: readonly CallAcceptance[];
  /** Failure after the events. */
  readonly failure?: ServiceError;
}

export interface ParseTestOptions {
  readonly call?: Partial<PhaseCall>;
  readonly metadata?: Partial<CompletionServerMetadata>;
  /** Byte offsets at which the response is cut into pieces. */
  readonly cuts?: readonly number[];
}

/** Parses a streamed body with a dialect. */
export async function parseTestResponse(
  dialect: CompletionDialect,
  body: string | Uint8Array,
  { call = {}, metadata = {}, cuts = [] }: ParseTestOptions = {},
): Promise<ParsedTestResponse> {
  const errors = createUpstreamErrorFactory({ upstream: 'server', apiKey: undefined });
  const acceptances: CallAcceptance[] = [];
  const answer = dialect.createParser(
    { ...TEST_CALL, ...call },
    { errors, metadata: { ...TEST_METADATA, ...metadata }, onAccepted: (one) => acceptances.push(one) },
  );
  const response = new IncomingMessage(new Socket());
  response.statusCode = 200;
  response.headers = { 'content-type': 'text/event-stream' };
  const bytes = Buffer.from(body);
  for (const [at, from] of [0, ...cuts].entries()) {
    const piece = bytes.subarray(from, cuts[at] ?? bytes.length);
    if (piece.length > 0) response.push(piece);
  }
  response.push(null);
  const timer = createStepTimer(() => undefined);
  const timeouts = { connectMs: 1_000, firstTokenMs: 1_000, idleMs: 1_000 };
  const parsedEvents: CompletionEvent[] = [];
  try {
    const sent = { response, timer, mapError: ServiceError.from };
    for await (const batch of await openEventBatches(sent, answer, { errors, timeouts })) parsedEvents.push(...batch);
    return { events: parsedEvents, acceptances };
  } catch (thrown) {
    return { events: parsedEvents, acceptances, failure: ServiceError.from(thrown) };
  }
}

/** Encodes events as server-sent events; strings are sent as they are. */
export const encodeStream = (...all: readonly (object | string)[]): string =>
  all.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
