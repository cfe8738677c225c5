import { ServiceError } from '../../core/error.ts';
import { askAgain, EngineGoneError, failingWith, startAgain } from '../engine-gone.ts';
import type { EngineCapabilities, EngineRequest, EngineStart, TextEngine } from '../engine.ts';
import type { Supervised } from '../supervisor.ts';
import type { ProgramUp } from './command-server.ts';

export interface CommandEngineOptions {
  /** Its program, of this process or kept by another one of ours; it ends with the engine. */
  readonly server: Supervised<ProgramUp>;
  /** The engine of a program that has come up; made anew after each start. */
  readonly engineAt: (url: string, apiKey: string) => TextEngine;
  /** What is known before the program is up; from then on its engine says it. */
  readonly capabilities: EngineCapabilities;
  /** Whether it makes vectors, and whether it ranks: known before the program is up. */
  readonly hasEmbeddings?: boolean;
  readonly hasRanking?: boolean;
  /** Hears of every piece of output. */
  readonly onToken?: () => void;
}

/** A server program as an engine: what dies with the program fails as the program did, or is asked once more. */
export function createCommandEngine(options: CommandEngineOptions): TextEngine {
  const { server } = options;
  let last: { readonly up: ProgramUp; readonly engine: TextEngine } | undefined;

  const engineOf = (up: ProgramUp): TextEngine => {
    if (last?.up === up) return last.engine;
    // Nobody waits for its end: its program is gone, and so are its calls.
    last?.engine.close().catch(() => undefined);
    const engine = options.engineAt(up.url, up.apiKey);
    last = { up, engine };
    return engine;
  };

  /** Passes a failure on. That of a dead program is told as such, and the next call gets another one. */
  const failureOf =
    (up: ProgramUp) =>
    async (error: unknown): Promise<never> => {
      if (mayBeAnEnd(error) && (await server.gone(up))) throw new EngineGoneError(error);
      throw error;
    };

  const start = async (request: EngineRequest, signal: AbortSignal): Promise<EngineStart> => {
    const up = await server.ready(signal);
    const fail = failureOf(up);
    const started = await engineOf(up).start(request, signal).catch(fail);
    return { ...started, batches: failingWith(started.batches, fail, options.onToken) };
  };

  /** For calls that have one answer. */
  const asked = <T>(ask: (engine: TextEngine) => Promise<T>, signal?: AbortSignal): Promise<T> =>
    askAgain(async () => {
      const up = await server.ready(signal);
      return await ask(engineOf(up)).catch(failureOf(up));
    });

  return {
    get capabilities() {
      return last?.engine.capabilities ?? options.capabilities;
    },
    get state() {
      return server.state === 'stopped' ? 'starting' : server.state;
    },
    start: (request, signal) => startAgain(() => start(request, signal)),
    model: () => asked((engine) => engine.model()),
    countTokens: (input) => asked((engine) => engine.countTokens(input)),
    tokenize: (input) => asked((engine) => engine.tokenize(input)),
    ...(options.hasEmbeddings && {
      embeddings: {
        dimensions: () => asked(async (engine) => partOf(engine.embeddings).dimensions()),
        embed: (request, signal) => asked(async (engine) => partOf(engine.embeddings).embed(request, signal), signal),
      },
    }),
    ...(options.hasRanking && {
      ranking: {
        rank: (request, signal) => asked(async (engine) => partOf(engine.ranking).rank(request, signal), signal),
      },
    }),
    async close() {
      await last?.engine.close();
      await server.stop();
    },
  };
}

/** Refusals, limits and the caller's own going say nothing about the program. */
const mayBeAnEnd = (error: unknown): boolean =>
  !(error instanceof ServiceError) || error.kind === 'upstream-failed' || error.kind === 'engine-failed';

function partOf<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new ServiceError('unsupported', 'The program of this model does not do this.');
  return part;
}
