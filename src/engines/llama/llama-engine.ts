import { requirePromptInput } from '../engine-input.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { TextEngine } from '../engine.ts';
import { createRestartableClient } from '../restartable-client.ts';
import type { SupervisedProcess } from '../supervisor.ts';
import { createLlamaClient } from './client.ts';
import type { LlamaEndpoint, SchedulerHealth } from './protocol.ts';
import { createTemplateOverride } from './template-override.ts';

export interface LlamaEngineOptions {
  /** The process of the engine, run by this process or another one of Parley; `close` stops it. */
  readonly process: SupervisedProcess<LlamaEndpoint>;
  /** Template that replaces those of the model file. */
  readonly chatTemplate?: string;
  /** Number of choices that the process can run at the same time. */
  readonly sequences: number;
  /** Called for every piece of output. */
  readonly onToken?: () => void;
}

export interface LlamaEngine extends TextEngine {
  /** Returns the load of the process; undefined while it does not run or answer. */
  readLoad(): Promise<SchedulerHealth | undefined>;
}

/** Time limit for a process to report its load, in ms. A process in a long evaluation is left out. */
const LOAD_TIMEOUT_MS = 500;

/** Creates an engine for a model file that runs in its own process: the side that sends requests to that process. */
export function createLlamaEngine({ process, sequences, chatTemplate, onToken }: LlamaEngineOptions): LlamaEngine {
  const withTemplate = createTemplateOverride(chatTemplate);
  const restartable = createRestartableClient({
    process,
    connect: ({ socket, token }: LlamaEndpoint) => createLlamaClient({ socket, ...omitNullish({ token, onToken }) }),
  });
  return {
    get state() {
      return restartable.state;
    },
    capabilities: {
      input: 'prompt',
      logprobs: true,
      promptLogprobs: true,
      grammar: true,
      phases: true,
      cache: true,
      choicesMax: sequences,
    },
    start: (request, signal) => restartable.start((client) => client.generate(request, signal), signal),
    async loadModel() {
      return withTemplate((await process.waitUntilReady()).model);
    },
    countTokens: (input, owner) => restartable.call((client) => client.countTokens(requirePromptInput(input), owner)),
    tokenize: (input, owner) => restartable.call((client) => client.tokenize(requirePromptInput(input), owner)),
    embeddings: {
      getDimensions: async () => (await process.waitUntilReady()).model.vectorDimensions ?? 0,
      embed: (request, signal) => restartable.call((client) => client.embed(request, signal), signal),
    },
    ranking: { rank: (request, signal) => restartable.call((client) => client.rank(request, signal), signal) },
    async readLoad() {
      // A metric must not start the process.
      if (process.state !== 'ready') return undefined;
      const timeout = AbortSignal.timeout(LOAD_TIMEOUT_MS);
      return await restartable.call((client) => client.readHealth(LOAD_TIMEOUT_MS), timeout).catch(() => undefined);
    },
    close: () => restartable.close(),
  };
}
