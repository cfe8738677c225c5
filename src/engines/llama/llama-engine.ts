import { requirePromptInput } from '../engine-input.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { TextEngine } from '../engine.ts';
import { createRestartableClient } from '../restartable-client.ts';
import type { SupervisedProcess } from '../supervisor.ts';
import { createLlamaClient } from './client.ts';
import type { LlamaEndpoint } from './protocol.ts';
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

/** Creates an engine for a model file that runs in its own process: the side that sends requests to that process. */
export function createLlamaEngine({ process, sequences, chatTemplate, onToken }: LlamaEngineOptions): TextEngine {
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
    close: () => restartable.close(),
  };
}
