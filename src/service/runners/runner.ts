import type { ReplaceableCatalogue } from '../../catalogue/catalogue.ts';
import type { ModelEntry } from '../../catalogue/model.ts';
import type { Log } from '../../core/telemetry.ts';
import type { EmbeddingEngine, RankingEngine, TextEngine } from '../../engines/engine.ts';
import type { EngineLease, EngineRegistry, ManagedEngine } from '../../engines/engine-registry.ts';
import type { SpeechEngine } from '../../engines/speech-engine.ts';
import type { SupervisedProcess } from '../../engines/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import { assert } from '../../lib/assert.ts';
import type { EngineLoad } from '../../telemetry/process-metrics.ts';
import type { RuntimeStore } from '../../weights/runtime/runtime-store.ts';
import type { EngineHost, ModelState } from '../engine-host.ts';
import type { EngineSettings } from '../engine-settings.ts';
import type { LocalModels } from './local-models.ts';

/** The functions that an engine may have. */
export interface EngineParts {
  readonly text: TextEngine;
  readonly embeddings: EmbeddingEngine;
  readonly ranking: RankingEngine;
  readonly speech: SpeechEngine;
}

export type EnginePart = keyof EngineParts;

/** An open engine. */
export interface RunningEngine extends ManagedEngine {
  getParts(): { readonly [Part in EnginePart]?: EngineParts[Part] | undefined };
  /** Resolves when the model is loaded. */
  waitUntilReady(signal: AbortSignal): Promise<unknown>;
  /** Returns the load of the engine's process; undefined while it does not run. */
  readonly readLoad?: (() => Promise<EngineLoad | undefined>) | undefined;
  /** The process of the engine, when other processes of the service may call that too. */
  readonly supervised?: SupervisedProcess<unknown> | undefined;
  /** Returns the engine of another entry with the same key, for a process that serves several models. */
  readonly selectEntry?: (entry: ModelEntry) => Promise<RunningEngine>;
}

/** Opens and describes the engines of one kind. */
export interface Runner {
  /** Parts that its engines may have. A request for another one is refused without opening an engine. */
  readonly parts: readonly EnginePart[];
  /** Returns the key of the entry's engine. Entries with the same key share one engine. */
  getKey(entry: ModelEntry): string;
  /** Leases the engine of the entry; opens it first if necessary. @throws ServiceError when that is not possible now. */
  lease(entry: ModelEntry): Promise<EngineLease<RunningEngine>>;
  getState(entry: ModelEntry): Promise<ModelState>;
}

/** Dependencies that the runners share. */
export interface RunnerDeps extends EngineSettings {
  readonly catalogue: Pick<ReplaceableCatalogue, 'weights' | 'applyModelInfo'>;
  readonly models: LocalModels;
  readonly runtimes: Pick<RuntimeStore, 'locate' | 'runtime'>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly clock: Clock;
  /** Present in a worker process: the host runs the engine processes, and this process starts none. */
  readonly host?: EngineHost;
  /** Text engines of this machine, of which few are open at once. */
  readonly textEngines: EngineRegistry<RunningEngine>;
  /** Returns a function that records that the engine of the key produced output. */
  readonly createTokenRecorder: (key: string) => () => void;
}

type RunnerType = ModelEntry['runner']['type'];

/** Returns the runner of an entry, which must have the type. */
export function getRunnerOptions<Type extends RunnerType>(
  { name, runner }: ModelEntry,
  type: Type,
): Extract<ModelEntry['runner'], { readonly type: Type }> {
  assert(hasType(runner, type), `the runner of ${name} is not ${type}`);
  return runner;
}

const hasType = <Type extends RunnerType>(
  runner: ModelEntry['runner'],
  type: Type,
): runner is Extract<ModelEntry['runner'], { readonly type: Type }> => runner.type === type;

/** Returns the context length to run the entry with. */
export const getContextTokens = (entry: ModelEntry, { contextTokens }: Pick<EngineSettings, 'contextTokens'>): number =>
  contextTokens ?? entry.contextTokens;

/** Returns the context length that the operator states for the entry; undefined: the engine decides by memory. */
export const getConfiguredContext = (
  entry: ModelEntry,
  { contextTokens }: Pick<EngineSettings, 'contextTokens'>,
): number | undefined => contextTokens ?? (entry.isContextGuessed ? undefined : entry.contextTokens);

/** Removes what differs between a model and its adapters on the same server. */
function omitAdapter(runner: ModelEntry['runner']): ModelEntry['runner'] {
  if (runner.type !== 'program') return runner;
  const { adapter: _, ...remote } = runner.remote;
  return { ...runner, remote };
}

/** Returns the key of a server: any difference in its description makes it another engine. */
export function createServerKey(entry: ModelEntry, settings: Pick<EngineSettings, 'contextTokens'>): string {
  // A context length that the engine itself reported is excluded: a report must not change the key of its engine.
  return `${entry.runner.type} ${getConfiguredContext(entry, settings) ?? ''} ${JSON.stringify(omitAdapter(entry.runner))}`;
}
