import { assert } from '../../lib/assert.ts';
import type { EngineInput, EngineRequest, EngineStart, TextEngine } from '../engine.ts';
import { askAgain, EngineGoneError, failingWith, startAgain } from '../engine-gone.ts';
import type { Supervised } from '../supervisor.ts';
import { createLlamaClient } from './client.ts';
import type { LlamaClient } from './client.ts';
import type { LlamaUp, TokenInput } from './protocol.ts';

export interface LlamaEngineOptions {
  /** Its process, of this program or kept by another one of ours; it ends with the engine. */
  readonly process: Supervised<LlamaUp>;
  /** Answers that the process runs side by side. */
  readonly sequences: number;
  /** Hears of every piece of output. */
  readonly onToken?: () => void;
}

/** A model file run by the embedded engine: the side that calls its process. */
export function createLlamaEngine({ process, sequences, onToken }: LlamaEngineOptions): TextEngine {
  let client: { readonly of: LlamaUp; readonly calls: LlamaClient } | undefined;

  /** The client of the process that runs now. What is left of that of another one goes. */
  const clientOf = (up: LlamaUp): LlamaClient => {
    if (client?.of !== up) {
      client?.calls.close();
      const calls = createLlamaClient({ socket: up.socket, token: up.token, ...(onToken ? { onToken } : {}) });
      client = { of: up, calls };
    }
    return client.calls;
  };

  /** Passes a failure on. After that of a dead process, the next call gets another one. */
  const failureOf =
    (up: LlamaUp) =>
    async (error: unknown): Promise<never> => {
      if (error instanceof EngineGoneError) await process.gone(up);
      throw error;
    };

  const generate = async (request: EngineRequest, signal: AbortSignal): Promise<EngineStart> => {
    const up = await process.ready(signal);
    const fail = failureOf(up);
    const started = await clientOf(up).generate(request, signal).catch(fail);
    return { ...started, batches: failingWith(started.batches, fail) };
  };

  const asked = <T>(ask: (client: LlamaClient) => Promise<T>, signal?: AbortSignal): Promise<T> =>
    askAgain(async () => {
      const up = await process.ready(signal);
      return await ask(clientOf(up)).catch(failureOf(up));
    });

  return {
    get state() {
      return process.state === 'stopped' ? 'starting' : process.state;
    },
    capabilities: {
      input: 'prompt',
      logprobs: true,
      grammar: true,
      phases: true,
      cache: true,
      choicesMax: sequences,
    },
    start: (request, signal) => startAgain(() => generate(request, signal)),
    async model() {
      return (await process.ready()).model;
    },
    countTokens: (input) => asked((client) => client.countTokens(promptInput(input))),
    tokenize: (input) => asked((client) => client.tokenize(promptInput(input))),
    embeddings: {
      dimensions: async () => (await process.ready()).model.vectorDimensions ?? 0,
      embed: (request, signal) => asked((client) => client.embed(request, signal), signal),
    },
    ranking: { rank: (request, signal) => asked((client) => client.rank(request, signal), signal) },
    async close() {
      await process.stop();
      client?.calls.close();
    },
  };
}

function promptInput(input: EngineInput): TokenInput {
  assert(input.type !== 'messages', 'a prompt engine was given messages');
  return input;
}
