import { join } from 'node:path';
import type { Catalogue, ModelEntry } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { Log } from '../core/telemetry.ts';
import type { EmbeddingEngine } from '../engines/engine.ts';
import { createEngineRegistry } from '../engines/engine-registry.ts';
import type { EngineLease } from '../engines/engine-registry.ts';
import type { SupervisedLease } from '../engines/sharing/lease-table.ts';
import type { SpeechEndpoint, EmbeddingEndpoint } from '../engines/speech/protocol.ts';
import { createSpeechEngine } from '../engines/speech/speech-engine.ts';
import { createSpeechProcess, createEmbeddingProcess } from '../engines/speech/speech-process.ts';
import type { SpeechProcessOptions } from '../engines/speech/speech-process.ts';
import { createStandaloneEmbeddingEngine } from '../engines/speech/standalone-embedding-engine.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { SupervisedProcess } from '../engines/supervisor.ts';
import type { Clock } from '../lib/clock.ts';
import type { RuntimeStore } from '../weights/runtime/runtime-store.ts';
import type { EngineHost, ModelState } from './engine-host.ts';

/** Maximum number of engine processes: one for speech and one for embeddings. Together they take 0.9 GB. */
const ENGINES_MAX = 2;

/** Voice detector among the files of speech weights. Without it, sound louder than the background counts as voice. */
const VOICE_FILE = 'silero-vad.onnx';

/** A catalogue entry that runs on the ONNX runtime, which the operator installs on demand. */
export interface OnnxEntry extends ModelEntry {
  readonly runner: Extract<ModelEntry['runner'], { readonly type: 'onnx' }>;
}

export const isOnnx = (entry: ModelEntry): entry is OnnxEntry => entry.runner.type === 'onnx';

export interface OnnxEnginesDeps {
  readonly catalogue: Pick<Catalogue, 'weights'>;
  readonly runtimes: Pick<RuntimeStore, 'locate' | 'runtime'>;
  /** Returns the folder of the entry's weights. @throws ServiceError when they are not on this machine. */
  readonly locateWeightsFolder: (entry: ModelEntry, weights: string) => Promise<string>;
  readonly process: Pick<SpeechProcessOptions, 'threads' | 'queueLengthMax' | 'queueWaitMsMax' | 'runFolder'>;
  readonly log: Log;
  readonly clock: Clock;
  /** Present in a worker process: the host runs the engine processes. */
  readonly host?: EngineHost;
  readonly reclaimUnused?: () => Promise<void>;
}

/** A registry entry: one of the two engines, and its process for use by other processes. */
interface RunningOnnxEngine {
  readonly speech?: SpeechEngine;
  readonly vectors?: EmbeddingEngine;
  readonly supervised: SupervisedProcess<unknown>;
  readonly state: SpeechEngine['state'];
  close(): Promise<void>;
}

/** Finds or starts the speech or embedding process of an entry: one process for each set of weights. */
export interface OnnxEngines {
  /**
   * @throws ServiceError `unsupported` without the runtime, or for weights without speech recognition; `overloaded` without
   * weights.
   */
  speechFor(entry: OnnxEntry): Promise<{ readonly engine: SpeechEngine; release(): void }>;
  vectorsFor(entry: OnnxEntry): Promise<{ readonly engine: EmbeddingEngine; release(): void }>;
  share(entry: OnnxEntry): Promise<SupervisedLease>;
  /** Returns the state of the engine or the missing runtime; undefined when it depends on the weights alone. */
  getState(entry: OnnxEntry): Promise<ModelState | undefined>;
  releaseIdle(): Promise<void>;
  close(): Promise<void>;
}

export function createOnnxEngines({
  catalogue,
  runtimes,
  locateWeightsFolder,
  log,
  clock,
  host,
  reclaimUnused,
  ...deps
}: OnnxEnginesDeps): OnnxEngines {
  const registry = createEngineRegistry<RunningOnnxEngine>({
    // The host enforces the limit for all processes.
    enginesMax: host ? Infinity : ENGINES_MAX,
    clock,
    ...(reclaimUnused ? { recallLeases: reclaimUnused } : {}),
  });

  const locateFiles = async (entry: OnnxEntry) => {
    const runtimeFolder = await runtimes.locate();
    if (runtimeFolder === undefined)
      throw new ServiceError('unsupported', `${entry.name}: ${describeMissingRuntime(runtimes)}.`, { param: 'model' });
    return { runtimeFolder, weightsFolder: await locateWeightsFolder(entry, entry.runner.weights) };
  };

  const startSpeech = async (entry: OnnxEntry): Promise<RunningOnnxEngine> => {
    const start = async () => {
      const files = await locateFiles(entry);
      const hasVoiceDetector = catalogue
        .weights(entry.runner.weights)
        .folder?.files.some(({ name }) => name === VOICE_FILE);
      const voiceDetector = hasVoiceDetector ? { voiceFile: join(files.weightsFolder, VOICE_FILE) } : {};
      return await createSpeechProcess(
        { ...deps.process, ...files, ...voiceDetector, name: entry.runner.weights },
        log,
      );
    };
    const process = await (host ? host.open(entry.name, parseSpeechUp) : start());
    const speech = createSpeechEngine({ process });
    return createRunningEngine(process, speech, { speech });
  };

  const startVectors = async (entry: OnnxEntry): Promise<RunningOnnxEngine> => {
    const start = async () =>
      await createEmbeddingProcess({ ...deps.process, ...(await locateFiles(entry)), name: entry.runner.weights }, log);
    const process = await (host ? host.open(entry.name, parseVectorUp) : start());
    const vectors = createStandaloneEmbeddingEngine({ process });
    return createRunningEngine(process, vectors, { vectors });
  };

  const leaseEngine = (entry: OnnxEntry): Promise<EngineLease<RunningOnnxEngine>> =>
    registry.lease(entry.runner.weights, () =>
      entry.runner.task === 'speech' ? startSpeech(entry) : startVectors(entry),
    );

  const leasePart = async <Part>(
    entry: OnnxEntry,
    pick: (running: RunningOnnxEngine) => Part | undefined,
    limitation: string,
  ) => {
    const { engine, release } = await leaseEngine(entry);
    const part = pick(engine);
    if (part !== undefined) return { engine: part, release };
    release();
    throw new ServiceError('unsupported', `The engine of model ${entry.name} ${limitation}.`, { param: 'model' });
  };

  return {
    speechFor: (entry) => leasePart(entry, ({ speech }) => speech, 'does not recognize speech'),
    vectorsFor: (entry) => leasePart(entry, ({ vectors }) => vectors, 'does not produce embeddings'),
    async share(entry) {
      const { engine, release } = await leaseEngine(entry);
      return { supervised: engine.supervised, release };
    },
    async getState({ runner }) {
      const state = registry.getState(runner.weights);
      if (state === 'ready') return { state };
      if (state === 'starting') return { state, reason: 'the engine is starting' };
      if (state === 'failing') return { state, reason: 'the engine fails to start; see the log' };
      if ((await runtimes.locate()) !== undefined) return undefined;
      return { state: 'off', reason: describeMissingRuntime(runtimes) };
    },
    releaseIdle: () => registry.closeIdle(() => true),
    close: () => registry.close(),
  };
}

/** Returns a clause for error messages and status reasons. */
const describeMissingRuntime = ({ runtime }: Pick<RuntimeStore, 'runtime'>): string =>
  runtime
    ? 'the speech engine is not installed; run: parley engines add speech'
    : 'the speech engine does not support this platform';

function createRunningEngine(
  supervised: SupervisedProcess<unknown>,
  engine: Pick<RunningOnnxEngine, 'state' | 'close'>,
  parts: Pick<RunningOnnxEngine, 'speech' | 'vectors'>,
): RunningOnnxEngine {
  return {
    ...parts,
    supervised,
    get state() {
      return engine.state;
    },
    close: () => engine.close(),
  };
}

/** The host is a process of the same version, so its messages need no validation. */
const parseSpeechUp = (value: unknown): SpeechEndpoint => value as SpeechEndpoint;
const parseVectorUp = (value: unknown): EmbeddingEndpoint => value as EmbeddingEndpoint;
