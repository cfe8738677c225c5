import { join } from 'node:path';
import type { ModelEntry } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { Log } from '../core/telemetry.ts';
import type { EmbeddingEngine } from '../engines/engine.ts';
import { createRegistry } from '../engines/registry.ts';
import type { Lease } from '../engines/registry.ts';
import type { SupervisedLease } from '../engines/sharing/guest-desk.ts';
import type { SpeechUp, VectorUp } from '../engines/speech/protocol.ts';
import { createSpeechEngine } from '../engines/speech/speech-engine.ts';
import { createSpeechProcess, createVectorProcess } from '../engines/speech/speech-process.ts';
import type { SpeechProcessOptions } from '../engines/speech/speech-process.ts';
import { createVectorEngine } from '../engines/speech/vector-engine.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { Supervised } from '../engines/supervisor.ts';
import type { Clock } from '../lib/clock.ts';
import type { RuntimeStore } from '../weights/runtime/runtime-store.ts';
import type { EngineHost, ModelState } from './model-engines.ts';

/** Processes that may run at once: one that hears speech, and one that makes vectors. Together they take 0.9 GB. */
const ENGINES_MAX = 2;

/** The voice detector among the files of weights for speech. */
const VOICE_FILE = 'silero-vad.onnx';

/** An entry that runs on the engine that is installed on demand. */
export interface OnnxEntry extends ModelEntry {
  readonly runs: Extract<ModelEntry['runs'], { readonly type: 'onnx' }>;
}

export const isOnnx = (entry: ModelEntry): entry is OnnxEntry => entry.runs.type === 'onnx';

export interface OnnxEnginesNeeds {
  readonly runtimes: Pick<RuntimeStore, 'locate' | 'runtime'>;
  /** Of the weights of an entry. @throws ServiceError where they are not here. */
  readonly folderOf: (entry: ModelEntry, weights: string) => Promise<string>;
  readonly process: Pick<SpeechProcessOptions, 'threads' | 'queuePlacesMax' | 'queueWaitMsMax' | 'runFolder'>;
  readonly log: Log;
  readonly clock: Clock;
  /** Present where the processes are another one's. */
  readonly host?: EngineHost;
  readonly recall?: () => Promise<void>;
}

/** What a registry keeps: one of the two engines, and its process for others. */
interface Running {
  readonly speech?: SpeechEngine;
  readonly vectors?: EmbeddingEngine;
  readonly supervised: Supervised<unknown>;
  readonly state: SpeechEngine['state'];
  close(): Promise<void>;
}

/** From an entry to the process that hears speech, or makes vectors: one for each set of weights, whoever asks. */
export interface OnnxEngines {
  /** @throws ServiceError `unsupported` without the runtime, or for weights that hear nothing; `overloaded` without weights. */
  speechFor(entry: OnnxEntry): Promise<{ readonly engine: SpeechEngine; release(): void }>;
  vectorsFor(entry: OnnxEntry): Promise<{ readonly engine: EmbeddingEngine; release(): void }>;
  share(entry: OnnxEntry): Promise<SupervisedLease>;
  /** Of the engine, as far as it exists; else of the runtime. Undefined: it is the weights that decide. */
  stateOf(entry: OnnxEntry): Promise<ModelState | undefined>;
  releaseIdle(): Promise<void>;
  close(): Promise<void>;
}

export function createOnnxEngines({
  runtimes,
  folderOf,
  log,
  clock,
  host,
  recall,
  ...needs
}: OnnxEnginesNeeds): OnnxEngines {
  const registry = createRegistry<Running>({
    // The host sees to it for all.
    enginesMax: host ? Infinity : ENGINES_MAX,
    clock,
    ...(recall ? { recall } : {}),
  });

  const filesOf = async (entry: OnnxEntry) => {
    const runtimeFolder = await runtimes.locate();
    if (runtimeFolder === undefined)
      throw new ServiceError('unsupported', `${entry.name}: ${lacksRuntime(runtimes)}.`, { param: 'model' });
    return { runtimeFolder, weightsFolder: await folderOf(entry, entry.runs.weights) };
  };

  const startSpeech = async (entry: OnnxEntry): Promise<Running> => {
    const start = async () => {
      const files = await filesOf(entry);
      const voiceFile = join(files.weightsFolder, VOICE_FILE);
      return await createSpeechProcess({ ...needs.process, ...files, name: entry.runs.weights, voiceFile }, log);
    };
    const process = await (host ? host.open(entry.name, parseSpeechUp) : start());
    const speech = createSpeechEngine({ process });
    return running(process, speech, { speech });
  };

  const startVectors = async (entry: OnnxEntry): Promise<Running> => {
    const start = async () =>
      await createVectorProcess({ ...needs.process, ...(await filesOf(entry)), name: entry.runs.weights }, log);
    const process = await (host ? host.open(entry.name, parseVectorUp) : start());
    const vectors = createVectorEngine({ process });
    return running(process, vectors, { vectors });
  };

  const leaseOf = (entry: OnnxEntry): Promise<Lease<Running>> =>
    registry.lease(entry.runs.weights, () => (entry.runs.task === 'speech' ? startSpeech(entry) : startVectors(entry)));

  const partOf = async <Part>(entry: OnnxEntry, pick: (running: Running) => Part | undefined, lacks: string) => {
    const { engine, release } = await leaseOf(entry);
    const part = pick(engine);
    if (part !== undefined) return { engine: part, release };
    release();
    throw new ServiceError('unsupported', `What runs ${entry.name} ${lacks}.`, { param: 'model' });
  };

  return {
    speechFor: (entry) => partOf(entry, ({ speech }) => speech, 'does not recognise speech'),
    vectorsFor: (entry) => partOf(entry, ({ vectors }) => vectors, 'makes no vectors'),
    async share(entry) {
      const { engine, release } = await leaseOf(entry);
      return { supervised: engine.supervised, release };
    },
    async stateOf({ name, runs }) {
      const state = registry.stateOf(runs.weights);
      if (state === 'ready') return { state };
      if (state === 'starting') return { state, reason: 'its engine is starting' };
      if (state === 'failing') return { state, reason: 'its engine does not start; the log says why' };
      if ((await runtimes.locate()) !== undefined) return undefined;
      const then = runtimes.runtime ? `, then parley models pull ${name}` : '';
      return { state: 'off', reason: `${lacksRuntime(runtimes)}${then}` };
    },
    releaseIdle: () => registry.closeIdle(() => true),
    close: () => registry.close(),
  };
}

const lacksRuntime = ({ runtime }: Pick<RuntimeStore, 'runtime'>): string =>
  runtime ? 'it needs the speech engine: parley engines add speech' : 'the speech engine does not run on this machine';

function running(
  supervised: Supervised<unknown>,
  engine: Pick<Running, 'state' | 'close'>,
  parts: Pick<Running, 'speech' | 'vectors'>,
): Running {
  return {
    ...parts,
    supervised,
    get state() {
      return engine.state;
    },
    close: () => engine.close(),
  };
}

/** Parsers of what our own process of the same version told. */
const parseSpeechUp = (value: unknown): SpeechUp => value as SpeechUp;
const parseVectorUp = (value: unknown): VectorUp => value as VectorUp;
