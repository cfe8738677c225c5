import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { ServiceError } from '../../../core/error.ts';
import { NO_STOP } from '../../../core/request.ts';
import type { EngineRequest } from '../../engine.ts';
import { batchesOf } from '../../remote/batches-of.ts';
import { createFaults } from '../../remote/faults.ts';
import { createWatch } from '../../remote/watch.ts';
import type { Dialect, Heard, PhaseCall, ServerFacts, Taken } from '../dialect.ts';

export const FACTS: ServerFacts = {
  model: { contextTokens: 100, vocabularySize: 1_000, specialTokens: [], bosToken: '', eosToken: '' },
  markupInText: [],
};

export const CALL: PhaseCall = { prompt: [1, 2], tokensMax: 9, sampling: {}, endTokens: [], markers: new Map() };

/** A request for one free answer. */
export const REQUEST: EngineRequest = {
  id: 'r1',
  owner: { workspace: 'primary', key: 'key_1' },
  input: { type: 'tokens', tokens: [1, 2] },
  sampling: {},
  stop: NO_STOP,
  choices: 1,
  phases: [],
};

export interface Answered {
  readonly heard: readonly Heard[];
  readonly taken: readonly Taken[];
  /** What it failed with behind them. */
  readonly failure?: ServiceError;
}

export interface AnsweredOptions {
  readonly call?: Partial<PhaseCall>;
  readonly facts?: Partial<ServerFacts>;
  /** Places in the bytes between which they arrive by themselves. */
  readonly cuts?: readonly number[];
}

/** What a dialect makes of a streamed body. */
export async function answered(
  dialect: Dialect,
  body: string | Uint8Array,
  { call = {}, facts = {}, cuts = [] }: AnsweredOptions = {},
): Promise<Answered> {
  const faults = createFaults({ upstream: 'server', apiKey: undefined });
  const taken: Taken[] = [];
  const answer = dialect.answer(
    { ...CALL, ...call },
    { faults, facts: { ...FACTS, ...facts }, onTaken: (one) => taken.push(one) },
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
  const watch = createWatch(() => undefined);
  const timeouts = { connectMs: 1_000, firstTokenMs: 1_000, idleMs: 1_000 };
  const heard: Heard[] = [];
  try {
    const sent = { response, watch, why: ServiceError.from };
    for await (const batch of await batchesOf(sent, answer, { faults, timeouts })) heard.push(...batch);
    return { heard, taken };
  } catch (thrown) {
    return { heard, taken, failure: ServiceError.from(thrown) };
  }
}

/** Events as they go over the wire; what is no object goes as it is. */
export const events = (...all: readonly (object | string)[]): string =>
  all.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
