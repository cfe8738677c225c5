import { requirePromptInput } from '../engine-input.ts';
import type { EngineRequest, EngineRun, TextEngine } from '../engine.ts';
import { retryWhenEngineGone, EngineGoneError, withErrorHandler, startWithRetry } from '../engine-gone-error.ts';
import type { SupervisedProcess } from '../supervisor.ts';
import { createLlamaClient, type LlamaClient } from './client.ts';
import type { LlamaEndpoint } from './protocol.ts';

export interface LlamaEngineOptions {
  /** The process of the engine, run by this process or another one of Parley; `close` stops it. */
  readonly process: SupervisedProcess<LlamaEndpoint>;
  /** Number of choices that the process can run at the same time. */
  readonly sequences: number;
  /** Called for every piece of output. */
  readonly onToken?: () => void;
}

/** Creates an engine for a model file that runs in its own process: the side that sends requests to that process. */
export function createLlamaEngine({ process, sequences, onToken }: LlamaEngineOptions): TextEngine {
  let connection: { readonly endpoint: LlamaEndpoint; readonly client: LlamaClient } | undefined;

  /** Returns the client of the current process, and closes the client of an earlier one. */
  const getClient = (endpoint: LlamaEndpoint): LlamaClient => {
    if (connection?.endpoint !== endpoint) {
      connection?.client.close();
      const client = createLlamaClient({
        socket: endpoint.socket,
        token: endpoint.token,
        ...(onToken ? { onToken: onToken } : {}),
      });
      connection = { endpoint: endpoint, client: client };
    }
    return connection.client;
  };

  /**
   * Rethrows an error. If the process has ended, waits until that is known, so that the next call gets a new process.
   */
  const createErrorHandler =
    (endpoint: LlamaEndpoint) =>
    async (error: unknown): Promise<never> => {
      if (error instanceof EngineGoneError) await process.confirmExit(endpoint);
      throw error;
    };

  const generate = async (request: EngineRequest, signal: AbortSignal): Promise<EngineRun> => {
    const endpoint = await process.waitUntilReady(signal);
    const handleError = createErrorHandler(endpoint);
    const started = await getClient(endpoint).generate(request, signal).catch(handleError);
    return { ...started, batches: withErrorHandler(started.batches, handleError) };
  };

  const callWithRetry = <T>(call: (client: LlamaClient) => Promise<T>, signal?: AbortSignal): Promise<T> =>
    retryWhenEngineGone(async () => {
      const endpoint = await process.waitUntilReady(signal);
      return await call(getClient(endpoint)).catch(createErrorHandler(endpoint));
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
    start: (request, signal) => startWithRetry(() => generate(request, signal)),
    async loadModel() {
      return (await process.waitUntilReady()).model;
    },
    countTokens: (input) => callWithRetry((client) => client.countTokens(requirePromptInput(input))),
    tokenize: (input) => callWithRetry((client) => client.tokenize(requirePromptInput(input))),
    embeddings: {
      getDimensions: async () => (await process.waitUntilReady()).model.vectorDimensions ?? 0,
      embed: (request, signal) => callWithRetry((client) => client.embed(request, signal), signal),
    },
    ranking: { rank: (request, signal) => callWithRetry((client) => client.rank(request, signal), signal) },
    async close() {
      await process.stop();
      connection?.client.close();
    },
  };
}
