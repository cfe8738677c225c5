import { join } from 'node:path';
import type { ReplaceableCatalogue } from '../catalogue/catalogue.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../core/telemetry.ts';
import { findProgram, programVersion } from '../engines/command/find-program.ts';
import type { Clock } from '../lib/clock.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import type { EngineHost, ModelEnginesNeeds } from './model-engines.ts';

/** Ours: how long a program may take to tell its version, in ms. */
const VERSION_MS_MAX = 5_000;

export interface EngineNeeds {
  readonly catalogue: ReplaceableCatalogue;
  readonly weights: WeightsStore;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly clock: Clock;
  readonly host?: EngineHost;
  readonly recall?: () => Promise<void>;
}

export type EngineSettings = Pick<ModelEnginesNeeds, 'kind' | 'preferred' | 'contextTokens' | 'llama'>;

/** What all engines of this machine have in common. */
export async function engineSettingsOf(config: Config, needs: EngineNeeds): Promise<EngineSettings> {
  const { engine, limits } = config;
  if (!needs.host)
    needs.log.info('engine settings', {
      threads: engine.threads,
      sequences: engine.sequences,
      gpu: String(engine.gpu),
    });
  return {
    kind: engine.kind,
    preferred: await preferredProgram(engine, needs),
    contextTokens: engine.contextTokens,
    llama: {
      sequences: engine.sequences,
      threads: engine.threads,
      gpu: engine.gpu,
      queuePlacesMax: limits.queuePlaces,
      queueWaitMsMax: limits.queueWaitMs,
      runFolder: join(config.data, 'run'),
    },
  };
}

/** The program that is to run our weights, where it is on this machine. */
async function preferredProgram(
  { prefer, kind, llamaServer = 'llama-server' }: Config['engine'],
  { environment, log, host }: EngineNeeds,
): Promise<string | undefined> {
  if (prefer === 'embedded' || kind === 'scripted') return undefined;
  const path = await findProgram(llamaServer, environment);
  // Where another process keeps the engines, that one has told it.
  if (host) return path;
  if (path === undefined)
    log.warn('the preferred server program is not there: the embedded engine runs', { program: llamaServer });
  else {
    const version = await programVersion(path, { environment, withinMs: VERSION_MS_MAX });
    log.info('a server program runs our weights', { program: path, version });
  }
  return path;
}
