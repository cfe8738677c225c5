import { join } from 'node:path';
import type { ModelEntry } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import type { EngineRegistry } from '../../engines/engine-registry.ts';
import type { SpeechEndpoint, EmbeddingEndpoint } from '../../engines/speech/protocol.ts';
import { createSpeechEngine } from '../../engines/speech/speech-engine.ts';
import { createSpeechProcess, createEmbeddingProcess } from '../../engines/speech/speech-process.ts';
import { createStandaloneEmbeddingEngine } from '../../engines/speech/standalone-embedding-engine.ts';
import type { SupervisedProcess } from '../../engines/supervisor.ts';
import type { RuntimeStore } from '../../weights/runtime/runtime-store.ts';
import { getRunnerOptions, type Runner, type RunnerDeps, type RunningEngine } from './runner.ts';
import { createRunningEngine } from './running-engine.ts';

/** Voice detector among the files of speech weights. Without it, sound louder than the background counts as voice. */
const VOICE_FILE = 'silero-vad.onnx';

export interface OnnxRunnerDeps extends RunnerDeps {
  readonly onnxEngines: EngineRegistry<RunningEngine>;
}

/**
 * Runs speech recognition and embeddings on the ONNX runtime, which the operator installs on demand: one process for
 * each set of weights.
 */
export function createOnnxRunner(deps: OnnxRunnerDeps): Runner {
  const { catalogue, host, log, models, onnxEngines, runtimes } = deps;
  const { threads, queueLengthMax, queueWaitMsMax, runFolder } = deps.llama;
  const getWeights = (entry: ModelEntry): string => getRunnerOptions(entry, 'onnx').weights;

  const createProcessOptions = async (entry: ModelEntry) => {
    const runtimeFolder = await runtimes.locate();
    if (runtimeFolder === undefined)
      throw new ServiceError('unsupported', `${entry.name}: ${describeMissingRuntime(runtimes)}.`, { param: 'model' });
    const name = getWeights(entry);
    const weightsFolder = await models.locate(entry, name);
    const guard = models.createGuard(entry, weightsFolder);
    return { threads, queueLengthMax, queueWaitMsMax, runFolder, runtimeFolder, weightsFolder, name, guard };
  };

  const startSpeechProcess = async (entry: ModelEntry) => {
    const options = await createProcessOptions(entry);
    const hasVoiceDetector = catalogue.weights(options.name).folder?.files.some(({ name }) => name === VOICE_FILE);
    const voiceFile = join(options.weightsFolder, VOICE_FILE);
    return await createSpeechProcess({ ...options, ...deps.speech, ...(hasVoiceDetector ? { voiceFile } : {}) }, log);
  };

  const openSpeech = async (entry: ModelEntry): Promise<RunningEngine> => {
    const process = await (host ? host.open<SpeechEndpoint>(entry.name) : startSpeechProcess(entry));
    const speech = createSpeechEngine({ process });
    return createRunningEngine(speech, shareProcess(process, { speech }));
  };

  const openEmbeddings = async (entry: ModelEntry): Promise<RunningEngine> => {
    const process = await (host
      ? host.open<EmbeddingEndpoint>(entry.name)
      : createEmbeddingProcess(await createProcessOptions(entry), log));
    const embeddings = createStandaloneEmbeddingEngine({ process });
    return createRunningEngine(embeddings, shareProcess(process, { embeddings }));
  };

  return {
    parts: ['speech', 'embeddings'],
    getKey: (entry) => `onnx ${getWeights(entry)}`,
    lease: (entry) =>
      onnxEngines.lease(getWeights(entry), () =>
        getRunnerOptions(entry, 'onnx').task === 'speech' ? openSpeech(entry) : openEmbeddings(entry),
      ),
    getState: (entry) =>
      models.describe(entry, {
        engineState: onnxEngines.getState(getWeights(entry)),
        findObstacle: async () =>
          (await runtimes.locate()) === undefined ? describeMissingRuntime(runtimes) : undefined,
      }),
  };
}

/** Returns a clause for error messages and status reasons. */
const describeMissingRuntime = ({ runtime }: Pick<RuntimeStore, 'runtime'>): string =>
  runtime
    ? 'the speech engine is not installed; run: parley engines add speech'
    : 'the speech engine does not support this platform';

const shareProcess = (supervised: SupervisedProcess<unknown>, parts: ReturnType<RunningEngine['getParts']>) => ({
  getParts: () => parts,
  waitUntilReady: (signal: AbortSignal) => supervised.waitUntilReady(signal),
  supervised,
});
