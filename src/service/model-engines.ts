import type { ReplaceableCatalogue } from '../catalogue/catalogue.ts';
import { ownWeightsOf } from '../catalogue/model.ts';
import type { ModelEntry, ResolvedModel } from '../catalogue/model.ts';
import { ASKED_CHARS_MAX } from '../core/limits.ts';
import type { Log } from '../core/telemetry.ts';
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
import type { ProgramUp } from '../engines/command/command-server.ts';
import type { Pool } from '../engines/pool/pool.ts';
import type { SupervisedLease } from '../engines/sharing/guest-desk.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { Supervised } from '../engines/supervisor.ts';
import { knownOf } from '../generation/abilities.ts';
import type { Clock } from '../lib/clock.ts';
import type { ReportProgress } from '../weights/progress.ts';
import type { RuntimeStore } from '../weights/runtime/runtime-store.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import { createOnnxEngines, isOnnx } from './onnx-engines.ts';
import type { LentUnits, ReachedProcess } from './deployed/reach-units.ts';
import { createProgramEngine, createServerPool, planProgram, preferredPlan } from './server-engines.ts';
import type { ProgramPlan } from './server-engines.ts';

type Upstream = Extract<ModelEntry['runs'], { readonly type: 'upstream' }>;

/** Engines that may be loaded at once. Ours: the default weights and one more fit an 8 GB machine. */
const ENGINES_MAX = 2;

/** How long callers should wait before they ask for a model whose weights are on their way, in s. */
const DOWNLOAD_RETRY_SECONDS = 30;

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
  /** The same for what hears speech. */
  speechFor(model: ResolvedModel): Promise<PartLease<SpeechEngine>>;
  /** The same for scores. */
  rankingFor(model: ResolvedModel): Promise<PartLease<RankingEngine>>;
  /** Downloads what is missing and starts the engine. @throws ServiceError with the reason. */
  prepare(entry: ModelEntry, options: { signal: AbortSignal; onProgress?: ReportProgress }): Promise<void>;
  stateOf(entry: ModelEntry): Promise<ModelState>;
  /** Closes the connections to servers that none of these entries names any more. */
  keepServersOf(entries: readonly ModelEntry[]): Promise<void>;
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
  /** What serves of a deployment; undefined where nothing does. */
  holdUnits(id: string): Promise<HeldUnits | undefined>;
}

/** Units of a deployment that the host keeps, until they are given back. */
export interface HeldUnits {
  readonly units: LentUnits;
  readonly processes: readonly ReachedProcess[];
  release(): Promise<void>;
}

export interface ModelEnginesNeeds {
  readonly kind: 'llama' | 'scripted';
  readonly llama: Omit<LlamaProcessOptions, 'name' | 'modelFile' | 'contextTokens'>;
  /** Overrides what the entries say. */
  readonly contextTokens: number | undefined;
  readonly catalogue: Pick<ReplaceableCatalogue, 'weights' | 'find' | 'learn'>;
  /** Path of the server program that weights are given to instead of the embedded engine, where one is wanted and there. */
  readonly preferred: string | undefined;
  readonly weights: WeightsStore;
  readonly runtimes: Pick<RuntimeStore, 'locate' | 'runtime'>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
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
  const { clock, host, recall } = needs;
  const registry = createRegistry<Running>({
    // The host sees to it for all.
    enginesMax: host ? Infinity : ENGINES_MAX,
    clock,
    ...(recall ? { recall } : {}),
  });
  /** They hold no weights here, so there may be any number. */
  const servers = createRegistry<TextEngine>({ enginesMax: Infinity, clock });
  const pools = new Map<string, Pool>();
  const downloads = new Set<string>();
  const tokenAt = new Map<string, number>();
  const tokenOf = (key: string) => (): void => void tokenAt.set(key, needs.clock.monotonic());

  /** Names that share weights and context share the engine. */
  const keyOf = (entry: ModelEntry): string => {
    const { runs } = entry;
    if (isScripted(entry)) return 'scripted';
    switch (runs.type) {
      case 'weights':
        // A server program writes text or makes vectors; the embedded engine does both.
        return `${runs.weights} ${contextOf(entry)}${needs.preferred === undefined || isForText(entry) ? '' : ' embedded'}`;
      case 'upstream':
      case 'program':
        // Whatever is said of a server may make it another engine.
        return `${runs.type} ${declaredContextOf(entry) ?? ''} ${JSON.stringify(runs)}`;
      case 'onnx':
        return `onnx ${runs.weights}`;
      case 'none':
        return 'none';
    }
  };

  /** In the place of what would run here. */
  const isScripted = ({ runs }: ModelEntry): boolean => needs.kind === 'scripted' && runs.type !== 'upstream';

  const contextOf = (entry: ModelEntry): number => needs.contextTokens ?? entry.contextTokens;

  /** What an engine has told of itself must not make it another one. */
  const declaredContextOf = (entry: ModelEntry): number | undefined =>
    entry.isContextGuessed ? needs.contextTokens : contextOf(entry);

  const llamaFor = (entry: ModelEntry, { id }: Weights): Promise<Lease<Running>> => {
    const contextTokens = contextOf(entry);
    const key = keyOf(entry);
    return registry.lease(key, async () => {
      // Where the host has it, no file is needed here.
      const modelFile = host ? '' : await fileOf(entry, id);
      if (needs.preferred !== undefined && isForText(entry))
        return await programFor(entry, { ...preferredPlan(entry, needs.preferred, modelFile), contextTokens });
      const options = { ...needs.llama, name: id, modelFile, contextTokens };
      const process = await (host ? host.open(entry.name, parseLlamaUp) : createLlamaProcess(options, needs.log));
      const engine = createLlamaEngine({ process, sequences: needs.llama.sequences, onToken: tokenOf(key) });
      return running(learning(entry, engine), process);
    });
  };

  const fileOf = async (entry: ModelEntry, id: string): Promise<string> => {
    const weights = needs.catalogue.weights(id);
    const file = await needs.weights.locate(weights);
    if (file === undefined) throw notHere(entry, weights);
    return file;
  };

  /** Also what needs no weights of ours. */
  const isHere = async (entry: ModelEntry): Promise<boolean> => {
    const id = ownWeightsOf(entry);
    return id === undefined || (await needs.weights.locate(needs.catalogue.weights(id))) !== undefined;
  };

  const programFor = async (entry: ModelEntry, plan: ProgramPlan): Promise<Running> => {
    const { threads, sequences, gpu, runFolder } = needs.llama;
    const more = { ...needs, threads, sequences, gpu, runFolder, onToken: tokenOf(keyOf(entry)) };
    const openServer = host && (() => host.open(entry.name, parseProgramUp));
    const { engine, server } = await createProgramEngine(entry, plan, { ...more, ...(openServer && { openServer }) });
    return running(learning(entry, engine), server);
  };

  /** What an engine tells of its model is kept for the next request; one that does not tell is no failure here. */
  const learning = (entry: ModelEntry, engine: TextEngine): TextEngine => {
    engine.model().then(
      (model) => needs.catalogue.learn(entry.name, knownOf(model, engine.capabilities)),
      () => undefined,
    );
    return engine;
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

  const onnx = createOnnxEngines({
    ...needs,
    folderOf: fileOf,
    process: {
      threads: needs.llama.threads,
      queuePlacesMax: needs.llama.queuePlacesMax,
      queueWaitMsMax: needs.llama.queueWaitMsMax,
      runFolder: needs.llama.runFolder,
    },
  });

  const engineOf = async (entry: ModelEntry): Promise<Lease> => {
    const { runs } = entry;
    if (runs.type === 'upstream')
      return await servers.lease(keyOf(entry), async () => {
        const key = keyOf(entry);
        const pool = await createServerPool(entry, runs, { ...needs, onToken: tokenOf(key) });
        pools.set(key, pool);
        return learning(entry, pool);
      });
    const { engine, release } = await runningOf(entry, runs);
    return { engine: engine.text, release };
  };

  /** What runs on this machine. */
  const runningOf = (entry: ModelEntry, runs: Exclude<ModelEntry['runs'], Upstream>): Promise<Lease<Running>> => {
    if (isScripted(entry))
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
      case 'program':
        return registry.lease(keyOf(entry), async () => {
          const modelFile = runs.weights === undefined || host ? undefined : await fileOf(entry, runs.weights);
          return await programFor(entry, planProgram(entry, runs, modelFile));
        });
      case 'onnx':
        return Promise.reject(
          new ServiceError('unsupported', `What runs ${entry.name} writes no text.`, { param: 'model' }),
        );
      case 'none':
        return Promise.reject(new ServiceError('unsupported', `${entry.name}: ${runs.reason}`, { param: 'model' }));
    }
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
    embeddingsFor: (model) =>
      isOnnx(model.entry) && !isScripted(model.entry)
        ? onnx.vectorsFor(model.entry)
        : partOf(model, ({ embeddings }) => embeddings, 'makes no vectors'),
    async speechFor({ asked, entry }) {
      if (isOnnx(entry)) return await onnx.speechFor(entry);
      const why = entry.runs.type === 'none' ? entry.runs.reason : `${HEARS_NOTHING}.`;
      throw new ServiceError('unsupported', `${asked.slice(0, ASKED_CHARS_MAX)}: ${why}`, { param: 'model' });
    },
    rankingFor: (model) => partOf(model, ({ ranking }) => ranking, 'does not rank documents'),
    lastTokenAt: (entry) => tokenAt.get(keyOf(entry)),
    engineFor: ({ entry }) => engineOf(entry),
    async keepServersOf(entries) {
      const wanted = new Set(entries.map(keyOf));
      for (const key of pools.keys()) if (!wanted.has(key)) pools.delete(key);
      await servers.retire((key) => wanted.has(key));
    },
    async prepare(entry, { signal, onProgress }) {
      const own = ownWeightsOf(entry);
      if (own !== undefined && !isScripted(entry)) {
        const weights = needs.catalogue.weights(own);
        if ((await needs.weights.locate(weights)) === undefined) {
          downloads.add(weights.id);
          try {
            await needs.weights.pull(weights, { signal, ...(onProgress ? { onProgress } : {}) });
          } finally {
            downloads.delete(weights.id);
          }
        }
      }
      if (isOnnx(entry) && !isScripted(entry)) {
        const { supervised, release } = await onnx.share(entry);
        return void (await supervised.ready(signal).finally(release));
      }
      const { engine, release } = await engineOf(entry);
      await engine.model().finally(release);
    },
    async share(model) {
      const entry = needs.catalogue.find(model);
      if (!entry) throw new ServiceError('model-not-found', `There is no model ${model} any more.`, { param: 'model' });
      if (isOnnx(entry)) return await onnx.share(entry);
      const lease = entry.runs.type === 'upstream' ? undefined : await runningOf(entry, entry.runs);
      if (lease?.engine.supervised) return { supervised: lease.engine.supervised, release: lease.release };
      lease?.release();
      throw new ServiceError('internal', INTERNAL_MESSAGE, { cause: `what runs ${model} cannot be shared` });
    },
    async releaseIdle() {
      await Promise.all([registry.closeIdle(({ supervised }) => supervised !== undefined), onnx.releaseIdle()]);
    },
    async stateOf(entry) {
      const { runs } = entry;
      if (runs.type === 'none') return { state: 'off', reason: runs.reason };
      if (isScripted(entry)) return { state: 'ready' };
      if (isForSpeech(entry) && !isOnnx(entry)) return { state: 'off', reason: HEARS_NOTHING };
      if (runs.type === 'upstream') return stateOfServers(runs.addresses, pools.get(keyOf(entry)));
      if (host) return await host.stateOf(entry.name);
      const known = isOnnx(entry) ? await onnx.stateOf(entry) : undefined;
      if (known?.state === 'off' && !(await isHere(entry)))
        return { ...known, reason: `${known.reason}, then parley models pull ${entry.name}` };
      if (known) return known;
      const state = registry.stateOf(keyOf(entry));
      if (state === 'ready') return { state };
      if (state === 'starting') return { state, reason: 'its engine is starting' };
      if (state === 'failing') return { state, reason: 'its engine does not start; the log says why' };
      const id = ownWeightsOf(entry);
      if (id !== undefined && downloads.has(id)) return { state: 'downloading', reason: 'weights are downloading' };
      if (!(await isHere(entry)))
        return { state: 'missing', reason: `weights are not here: parley models pull ${entry.name}` };
      const program =
        runs.type === 'program' ? [runs.program.command].flat()[0] : isForText(entry) ? needs.preferred : undefined;
      return { state: 'on-demand', reason: `loads with the first request${program ? `, in ${program}` : ''}` };
    },
    async close() {
      await Promise.all([registry.close(), servers.close(), onnx.close()]);
    },
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

/** Parsers of what our own process of the same version told. */
const parseLlamaUp = (value: unknown): LlamaUp => value as LlamaUp;
const parseProgramUp = (value: unknown): ProgramUp => value as ProgramUp;

const HEARS_NOTHING = 'what runs it does not recognise speech';

const isForSpeech = ({ interfaces }: ModelEntry): boolean => interfaces.every((each) => each === 'speech');

const isForText = ({ interfaces }: ModelEntry): boolean =>
  !interfaces.every((each) => each === 'embeddings' || each === 'rerank');

/** How a model's servers do, one by one where not all are well. */
function stateOfServers(addresses: readonly string[], pool: Pool | undefined): ModelState {
  if (!pool) return { state: 'on-demand', reason: `served by ${addresses.map((url) => new URL(url).host).join(', ')}` };
  const members = pool.describe();
  const told = members.map(({ address, state }) => (state === 'ready' ? address : `${address} (${state})`)).join(', ');
  return pool.state === 'ready' && members.every(({ state }) => state === 'ready')
    ? { state: 'ready' }
    : { state: pool.state, reason: `served by ${told}` };
}
