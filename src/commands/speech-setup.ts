import type { Catalogue } from '../catalogue/model.ts';
import type { ReportProgress } from '../weights/progress-meter.ts';
import type { RuntimeStore } from '../weights/runtime/runtime-store.ts';
import type { WeightsStore } from '../weights/weights-store.ts';

export interface SpeechSetupOptions {
  readonly catalogue: Pick<Catalogue, 'list' | 'weights'>;
  readonly runtimes: Pick<RuntimeStore, 'runtime' | 'locate' | 'install'>;
  readonly weights: Pick<WeightsStore, 'locate' | 'pull'>;
}

/** The parts of speech and embeddings that are not on this machine. */
export interface MissingSpeechParts {
  /** Bytes of the engine's archives; 0 if it is installed. */
  readonly engineBytes: number;
  /** Bytes of the weights that are not on this machine. */
  readonly weightsBytes: number;
}

/** Installs the engine of speech and embeddings, and the weights of the models that run on it. */
export interface SpeechSetup {
  /** Returns undefined if nothing is missing, no model needs the engine, or the platform has no engine. */
  findMissing(): Promise<MissingSpeechParts | undefined>;
  /** Downloads what is missing. @throws ServiceError as `RuntimeStore.install` and `WeightsStore.pull`. */
  install(options: { readonly signal: AbortSignal; readonly onProgress: ReportProgress }): Promise<void>;
}

export function createSpeechSetup({ catalogue, runtimes, weights }: SpeechSetupOptions): SpeechSetup {
  const listWeights = () => {
    const ids = catalogue.list().flatMap(({ runner }) => (runner.type === 'onnx' ? [runner.weights] : []));
    return [...new Set(ids)].map((id) => catalogue.weights(id));
  };
  const listMissingWeights = async () => {
    const located = await Promise.all(
      listWeights().map(async (each) => ({ each, path: await weights.locate(each).catch(() => undefined) })),
    );
    return located.flatMap(({ each, path }) => (path === undefined ? [each] : []));
  };
  return {
    async findMissing() {
      const { runtime } = runtimes;
      if (!runtime || listWeights().length === 0) return undefined;
      const hasEngine = (await runtimes.locate()) !== undefined;
      const missingWeights = await listMissingWeights();
      if (hasEngine && missingWeights.length === 0) return undefined;
      return {
        engineBytes: hasEngine ? 0 : sum(runtime.packages.map(({ archiveBytes }) => archiveBytes)),
        weightsBytes: sum(
          missingWeights.flatMap(({ folder }) => [
            ...(folder?.files ?? []).map(({ sizeBytes }) => sizeBytes),
            folder?.conversion?.sizeBytes ?? 0,
          ]),
        ),
      };
    },
    async install(options) {
      await runtimes.install(options);
      for (const each of await listMissingWeights()) await weights.pull(each, options);
    },
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
