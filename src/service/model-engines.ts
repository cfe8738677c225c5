import type { Catalogue, ModelEntry, ResolvedModel } from '../catalogue/model.ts';
import { INTERNAL_MESSAGE, ServiceError } from '../core/error.ts';
import type { Weights } from '../core/weights.ts';
import type { EmbeddingEngine, RankingEngine, TextEngine } from '../engines/engine.ts';
import { createLlamaEngine } from '../engines/llama/llama-engine.ts';
import { createLlamaProcess } from '../engines/llama/llama-process.ts';
import type { LlamaProcessOptions } from '../engines/llama/llama-process.ts';
import type { LlamaUp } from '../engines/llama/protocol.ts';
import { createRegistry } from '../engines/registry.ts';
import type { Lease } from '../engines/registry.ts';
import { promptScript } from '../engines/scripted/prompt-script.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import type { SupervisedLease } from '../engines/sharing/guest-desk.ts';
import type { Supervised, SupervisorLog } from '../engines/supervisor.ts';
import { createUpstreamEngine } from '../engines/upstream/upstream-engine.ts';
import type { Clock } from '../lib/clock.ts';
import type { ReportProgress } from '../weights/progress.ts';
import type { WeightsStore } from '../weights/weights-store.ts';

/** Engines that may be loaded at once. Ours: the default weights and one more fit an 8 GB machine. */
const ENGINES_MAX = 2;

/** How long callers should wait before they ask for a model whose weights are on their way, in s. */
const DOWNLOAD_RETRY_SECONDS = 30;

/** Characters of an asked name in a message: it is whatever the caller wrote. */
const ASKED_CHARS_MAX = 64;

export interface ModelState {
  readonly state: 'ready' | 'on-demand' | 'starting' | 'failing' | 'downloading' | 'missing' | 'off';
  /** For people, except when ready. */
  readonly reason?: string;
}

/** A part of an engine, for as long as somebody works with it. */
interface PartLease<Part> {
  readonly engine: Part;
  release(): void;
}

/** From a catalogue entry to the engine that runs it. */
export interface ModelEngines {
  /** The engine, until the lease is released. @throws ServiceError `overloaded` while weights are downloading or missing; `unsupported` for what has no engine. */
  engineFor(model: ResolvedModel): Promise<Lease>;
  /** The same for vectors. @throws ServiceError as `engineFor`; `unsupported` also for an engine that makes none. */
  embeddingsFor(model: ResolvedModel): Promise<PartLease<EmbeddingEngine>>;
  /** The same for scores. */
  rankingFor(model: ResolvedModel): Promise<PartLease<RankingEngine>>;
  /** Downloads what is missing and starts the engine. @throws ServiceError with the reason. */
  prepare(entry: ModelEntry, options: { signal: AbortSignal; onProgress?: ReportProgress }): Promise<void>;
  stateOf(entry: ModelEntry): Promise<ModelState>;
  /** When the engine of this model last gave a token, in ms of the monotonic clock. */
  lastTokenAt(entry: ModelEntry): number | undefined;
  close(): Promise<void>;
}

/** For processes that share the engines of one of them. */
export interface EngineSharing {
  /** What runs this model here, for another process. @throws ServiceError as `engineFor`. */
  share(model: string): Promise<SupervisedLease>;
  /** Gives back what is kept by another process and not used now. */
  releaseIdle(): Promise<void>;
}

/** Another process of ours, which keeps the engines. */
export interface EngineHost {
  /** @param parse Of the ready value that the host's engine has. @throws ServiceError as `engineFor`. */
  open<Ready>(model: string, parse: (value: unknown) => Ready): Promise<Supervised<Ready>>;
  stateOf(model: string): Promise<ModelState>;
}

export interface ModelEnginesNeeds {
  readonly kind: 'llama' | 'scripted';
  readonly llama: Omit<LlamaProcessOptions, 'name' | 'modelFile' | 'contextTokens'>;
  /** Overrides what the entries say. */
  readonly contextTokens: number | undefined;
  readonly catalogue: Pick<Catalogue, 'weights' | 'find'>;
  readonly weights: WeightsStore;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: SupervisorLog;
  readonly clock: Clock;
  /** Present where engines with processes of their own run elsewhere: no process is started here. */
  readonly host?: EngineHost;
  /** Asks the processes that share these engines for what they do not use. */
  readonly recall?: () => Promise<void>;
}

/** What a registry keeps: an engine, and its process where others may call that too. */
interface Running {
  readonly text: TextEngine;
  readonly supervised?: Supervised<unknown>;
  readonly state: TextEngine['state'];
  close(): Promise<void>;
}

export function createModelEngines(needs: ModelEnginesNeeds): ModelEngines & EngineSharing {
  const { host, recall } = needs;
  const registry = createRegistry<Running>({
    // The host sees to it for all.
    enginesMax: host ? Infinity : ENGINES_MAX,
    clock: needs.clock,
    ...(recall ? { recall } : {}),
  });
  const downloads = new Set<string>();
  const tokenAt = new Map<string, number>();
  const tokenOf = (key: string) => (): void => void tokenAt.set(key, needs.clock.monotonic());

  /** Names that share weights and context share the engine. */
  const keyOf = (entry: ModelEntry): string => {
    const { runs } = entry;
    if (needs.kind === 'scripted') return 'scripted';
    if (runs.type === 'weights') return `${runs.weights} ${contextOf(entry)}`;
    return runs.type === 'upstream' ? `upstream ${runs.addresses.join(' ')} ${runs.remote.model}` : 'none';
  };

  const contextOf = (entry: ModelEntry): number => needs.contextTokens ?? entry.contextTokens;

  const llamaFor = (entry: ModelEntry, weights: Weights): Promise<Lease<Running>> => {
    const key = keyOf(entry);
    return registry.lease(key, async () => {
      const process = await (host ? host.open(entry.name, parseLlamaUp) : llamaProcessOf(entry, weights));
      const text = createLlamaEngine({ process, sequences: needs.llama.sequences, onToken: tokenOf(key) });
      return running(text, process);
    });
  };

  const llamaProcessOf = async (entry: ModelEntry, weights: Weights): Promise<Supervised<LlamaUp>> => {
    const modelFile = await needs.weights.locate(weights);
    if (modelFile === undefined) throw notHere(entry, weights);
    const options = { ...needs.llama, name: weights.id, modelFile, contextTokens: contextOf(entry) };
    return createLlamaProcess(options, needs.log);
  };

  const notHere = (entry: ModelEntry, { id }: Weights): ServiceError =>
    downloads.has(id)
      ? new ServiceError('overloaded', `The weights of ${entry.name} are still downloading.`, {
          retryAfterSeconds: DOWNLOAD_RETRY_SECONDS,
        })
      : new ServiceError(
          'overloaded',
          `The weights of ${entry.name} are not on this machine: parley models pull ${entry.name}`,
          {
            retryAfterSeconds: DOWNLOAD_RETRY_SECONDS,
          },
        );

  const runningOf = (entry: ModelEntry): Promise<Lease<Running>> => {
    const { runs } = entry;
    if (needs.kind === 'scripted')
      return registry.lease(keyOf(entry), async () =>
        running(
          createScriptedEngine({
            script: promptScript,
            contextTokens: contextOf(entry),
            sequences: needs.llama.sequences,
            onToken: tokenOf(keyOf(entry)),
          }),
        ),
      );
    switch (runs.type) {
      case 'weights':
        return llamaFor(entry, needs.catalogue.weights(runs.weights));
      case 'upstream':
        return registry.lease(keyOf(entry), async () => {
          const apiKey = runs.apiKeyEnv === undefined ? undefined : needs.environment[runs.apiKeyEnv];
          return running(
            createUpstreamEngine({
              url: runs.addresses[0] ?? '',
              model: runs.remote.model,
              contextTokens: entry.contextTokens,
              ...(apiKey === undefined ? {} : { apiKey }),
            }),
          );
        });
      case 'program':
      case 'none':
        return Promise.reject(new ServiceError('unsupported', `${entry.name}: ${runs.type}`, { param: 'model' }));
    }
  };

  const engineOf = async (entry: ModelEntry): Promise<Lease> => {
    const { engine, release } = await runningOf(entry);
    return { engine: engine.text, release };
  };

  const partOf = async <Part>(
    { asked, entry }: ResolvedModel,
    pick: (engine: TextEngine) => Part | undefined,
    lacks: string,
  ): Promise<PartLease<Part>> => {
    const { engine, release } = await engineOf(entry);
    const part = pick(engine);
    if (part !== undefined) return { engine: part, release };
    release();
    throw new ServiceError('unsupported', `What runs model ${asked.slice(0, ASKED_CHARS_MAX)} ${lacks}.`, {
      param: 'model',
    });
  };

  return {
    embeddingsFor: (model) => partOf(model, ({ embeddings }) => embeddings, 'makes no vectors'),
    rankingFor: (model) => partOf(model, ({ ranking }) => ranking, 'does not rank documents'),
    lastTokenAt: (entry) => tokenAt.get(keyOf(entry)),
    engineFor: ({ entry }) => engineOf(entry),
    async prepare(entry, { signal, onProgress }) {
      if (needs.kind === 'llama' && entry.runs.type === 'weights') {
        const weights = needs.catalogue.weights(entry.runs.weights);
        if ((await needs.weights.locate(weights)) === undefined) {
          downloads.add(weights.id);
          try {
            await needs.weights.pull(weights, { signal, ...(onProgress ? { onProgress } : {}) });
          } finally {
            downloads.delete(weights.id);
          }
        }
      }
      const { engine, release } = await engineOf(entry);
      await engine.model().finally(release);
    },
    async share(model) {
      const entry = needs.catalogue.find(model);
      if (!entry) throw new ServiceError('model-not-found', `There is no model ${model} any more.`, { param: 'model' });
      const { engine, release } = await runningOf(entry);
      if (engine.supervised) return { supervised: engine.supervised, release };
      release();
      throw new ServiceError('internal', INTERNAL_MESSAGE, { cause: `what runs ${model} cannot be shared` });
    },
    releaseIdle: () => registry.closeIdle(({ supervised }) => supervised !== undefined),
    async stateOf(entry) {
      const { runs } = entry;
      if (runs.type === 'none') return { state: 'off', reason: runs.reason };
      if (needs.kind === 'scripted') return { state: 'ready' };
      if (runs.type === 'upstream')
        return { state: 'on-demand', reason: `upstream ${new URL(runs.addresses[0] ?? '').host}` };
      if (host) return host.stateOf(entry.name);
      const weights = needs.catalogue.weights(runs.weights ?? '');
      const state = registry.stateOf(keyOf(entry));
      if (state === 'ready') return { state };
      if (state === 'starting') return { state, reason: 'its engine is starting' };
      if (state === 'failing') return { state, reason: 'its engine does not start; the log says why' };
      if (downloads.has(weights.id)) return { state: 'downloading', reason: 'weights are downloading' };
      if ((await needs.weights.locate(weights)) === undefined)
        return { state: 'missing', reason: `weights are not here: parley models pull ${entry.name}` };
      return { state: 'on-demand', reason: 'loads with the first request' };
    },
    close: () => registry.close(),
  };
}

function running(text: TextEngine, supervised?: Supervised<unknown>): Running {
  return {
    text,
    ...(supervised ? { supervised } : {}),
    get state() {
      return text.state;
    },
    close: () => text.close(),
  };
}

/** Parser of what our own process of the same version told. */
const parseLlamaUp = (value: unknown): LlamaUp => value as LlamaUp;
