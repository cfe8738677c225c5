import { ServiceError } from '../../core/error.ts';
import { retryWhenEngineGone, EngineGoneError, withErrorHandler, startWithRetry } from '../engine-gone-error.ts';
import type { EngineCapabilities, EngineRequest, EngineRun, TextEngine } from '../engine.ts';
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
  let last: { readonly up: RunningProgram; readonly engine: TextEngine } | undefined;

  const getEngine = (up: RunningProgram): TextEngine => {
    if (last?.up === up) return last.engine;
    // Not awaited: the old program is gone, and so are its calls.
    last?.engine.close().catch(() => undefined);
    const engine = options.createEngineAt(up.url, up.apiKey);
    last = { up, engine };
    return engine;
  };

  /** Rethrows a failure. If the program has died, it throws `EngineGoneError`, and the next call gets a new program. */
  const createFailureHandler =
    (up: RunningProgram) =>
    async (error: unknown): Promise<never> => {
      if (mayBeProgramExit(error) && (await server.confirmExit(up))) throw new EngineGoneError(error);
      throw error;
    };

  const start = async (request: EngineRequest, signal: AbortSignal): Promise<EngineRun> => {
    const up = await server.waitUntilReady(signal);
    const handleFailure = createFailureHandler(up);
    const started = await getEngine(up).start(request, signal).catch(handleFailure);
    return { ...started, batches: withErrorHandler(started.batches, handleFailure, options.onToken) };
  };

  /** Runs a call that has a single result; retries it once if the program dies. */
  const runWithRestart = <T>(ask: (engine: TextEngine) => Promise<T>, signal?: AbortSignal): Promise<T> =>
    retryWhenEngineGone(async () => {
      const up = await server.waitUntilReady(signal);
      return await ask(getEngine(up)).catch(createFailureHandler(up));
    });

  return {
    get capabilities() {
      return last?.engine.capabilities ?? options.capabilities;
    },
    get state() {
      return server.state === 'stopped' ? 'starting' : server.state;
    },
    start: (request, signal) => startWithRetry(() => start(request, signal)),
    loadModel: () => runWithRestart((engine) => engine.loadModel()),
    countTokens: (input) => runWithRestart((engine) => engine.countTokens(input)),
    tokenize: (input) => runWithRestart((engine) => engine.tokenize(input)),
    ...(options.hasEmbeddings && {
      embeddings: {
        getDimensions: () => runWithRestart(async (engine) => requirePart(engine.embeddings).getDimensions()),
        embed: (request, signal) =>
          runWithRestart(async (engine) => requirePart(engine.embeddings).embed(request, signal), signal),
      },
    }),
    ...(options.hasRanking && {
      ranking: {
        rank: (request, signal) =>
          runWithRestart(async (engine) => requirePart(engine.ranking).rank(request, signal), signal),
      },
    }),
    async close() {
      await last?.engine.close();
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
