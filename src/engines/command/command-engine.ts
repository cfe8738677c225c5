import { ServiceError } from '../../core/error.ts';
import type { EngineCapabilities, TextEngine } from '../engine.ts';
import { createRestartableClient } from '../restartable-client.ts';
import type { SupervisedProcess } from '../supervisor.ts';
import type { RunningProgram } from './command-server.ts';

export interface CommandEngineOptions {
  /** The program, supervised by this process or by another process of Parley; stopped with the engine. */
  readonly server: SupervisedProcess<RunningProgram>;
  /** Creates the engine of a program that is ready; called again after each start. */
  readonly createEngineAt: (url: string, apiKey: string) => TextEngine;
  /** Capabilities until the program is ready; then those of its engine count. */
  readonly capabilities: EngineCapabilities;
  /** Whether the program computes embeddings or ranks documents: known before it is ready. */
  readonly hasEmbeddings?: boolean;
  readonly hasRanking?: boolean;
  /** Called for every piece of output. */
  readonly onToken?: () => void;
}

/** Creates an engine for a server program. Calls that fail because the program died are retried once, or fail as such. */
export function createCommandEngine(options: CommandEngineOptions): TextEngine {
  const { server } = options;
  const restartable = createRestartableClient({
    process: server,
    connect: ({ url, apiKey }: RunningProgram) => options.createEngineAt(url, apiKey),
    mayBeExit: mayBeProgramExit,
  });
  return {
    get capabilities() {
      return restartable.current?.capabilities ?? options.capabilities;
    },
    get state() {
      return restartable.state;
    },
    start: (request, signal) => restartable.start((engine) => engine.start(request, signal), signal, options.onToken),
    loadModel: () => restartable.call((engine) => engine.loadModel()),
    countTokens: (input, owner) => restartable.call((engine) => engine.countTokens(input, owner)),
    tokenize: (input, owner) => restartable.call((engine) => engine.tokenize(input, owner)),
    ...(options.hasEmbeddings && {
      embeddings: {
        getDimensions: () => restartable.call(async (engine) => requirePart(engine.embeddings).getDimensions()),
        embed: (request, signal) =>
          restartable.call(async (engine) => requirePart(engine.embeddings).embed(request, signal), signal),
      },
    }),
    ...(options.hasRanking && {
      ranking: {
        rank: (request, signal) =>
          restartable.call(async (engine) => requirePart(engine.ranking).rank(request, signal), signal),
      },
    }),
    async close() {
      await restartable.current?.close();
      await server.stop();
    },
  };
}

/** Returns false for errors that say nothing about the program: refusals, limits, and canceled calls. */
const mayBeProgramExit = (error: unknown): boolean =>
  !(error instanceof ServiceError) || error.kind === 'upstream-failed' || error.kind === 'engine-failed';

function requirePart<Part>(part: Part | undefined): Part {
  if (part === undefined)
    throw new ServiceError('unsupported', 'The program of this model does not support this request.');
  return part;
}
