import { join } from 'node:path';
import type { ReplaceableCatalogue } from '../catalogue/catalogue.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../core/telemetry.ts';
import { findProgram, readProgramVersion } from '../engines/command/find-program.ts';
import type { LlamaProcessOptions } from '../engines/llama/llama-process.ts';
import type { SpeechProcessOptions } from '../engines/speech/speech-process.ts';
import type { Clock } from '../lib/clock.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import type { EngineHost } from './engine-host.ts';
import type { WeightsMonitor } from './weights-monitor.ts';

/** Time limit for a program to print its version, in ms. */
const VERSION_TIMEOUT_MS = 5_000;

export interface EngineDeps {
  readonly catalogue: ReplaceableCatalogue;
  readonly weights: WeightsStore;
  /** Absent in a worker process, and where a command runs a model once. */
  readonly monitor?: WeightsMonitor;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly clock: Clock;
  /** Present in a worker process: the host runs the engine processes, and this process starts none. */
  readonly host?: EngineHost;
  /** Makes the processes that share these engines release the leases that they do not use. */
  readonly reclaimUnused?: () => Promise<void>;
}

/** Settings that all engines of this machine share. */
export interface EngineSettings {
  /** `scripted`: a scripted engine replaces the engines of this machine. */
  readonly kind: 'llama' | 'scripted';
  /** Path of the server program that runs local weights; undefined: the embedded engine runs them. */
  readonly preferredProgram: string | undefined;
  /** Context length for every entry; undefined: each entry's own. */
  readonly contextTokens: number | undefined;
  readonly llama: Omit<LlamaProcessOptions, 'name' | 'modelFile' | 'contextTokens'>;
  readonly speech: Pick<SpeechProcessOptions, 'beamWidth'>;
}

/** Derives the settings that all engines of this machine share. */
export async function resolveEngineSettings(config: Config, deps: EngineDeps): Promise<EngineSettings> {
  const { engine, limits } = config;
  if (!deps.host)
    deps.log.info('engine settings', {
      threads: engine.threads,
      sequences: engine.sequences,
      gpu: String(engine.gpu),
    });
  return {
    kind: engine.kind,
    preferredProgram: await findPreferredProgram(engine, deps),
    contextTokens: engine.contextTokens,
    llama: {
      sequences: engine.sequences,
      threads: engine.threads,
      gpu: engine.gpu,
      workspaceShare: engine.workspaceShare,
      queueLengthMax: limits.queuePlaces,
      queueWaitMsMax: limits.queueWaitMs,
      runFolder: join(config.data, 'run'),
    },
    speech: { beamWidth: config.speech.beamWidth },
  };
}

/** Returns the path of the server program that should run the local weights; undefined when the embedded engine runs them. */
async function findPreferredProgram(
  { prefer, kind, llamaServer = 'llama-server' }: Config['engine'],
  { environment, log, host }: EngineDeps,
): Promise<string | undefined> {
  if (prefer === 'embedded' || kind === 'scripted') return undefined;
  const path = await findProgram(llamaServer, environment);
  // A worker logs nothing: the primary process has logged the program already.
  if (host) return path;
  if (path === undefined)
    log.warn('preferred server program not found; the embedded engine runs the local weights', {
      program: llamaServer,
    });
  else {
    const version = await readProgramVersion(path, { environment, timeoutMs: VERSION_TIMEOUT_MS });
    log.info('server program runs the local weights', { program: path, version });
  }
  return path;
}
