import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { getSpeechRuntime } from '../src/weights/runtime/speech-runtime.ts';
import { getCurrentPlatform } from '../src/weights/runtime/current-platform.ts';

/** Returns the models folder of a Parley with default settings, where `parley models pull` stores weights. */
export function getModelsFolder(env: NodeJS.ProcessEnv = process.env): string {
  return env.PARLEY_MODELS_FOLDER ?? join(getDataFolder(env), 'models');
}

/** Returns the folder where `parley engines add speech` installs the speech engine. */
export function getEnginesFolder(env: NodeJS.ProcessEnv = process.env): string {
  return env.PARLEY_ENGINES_FOLDER ?? join(getDataFolder(env), 'engines');
}

const getDataFolder = (env: NodeJS.ProcessEnv): string =>
  env.PARLEY_DATA ?? join(env.XDG_DATA_HOME ?? join(homedir(), '.local', 'share'), 'parley');

/** Returns the package folder of the speech engine's runtime, in the version that this Parley installs. */
export function getRuntimeFolder(): string {
  const { name, version, main } = getSpeechRuntime(getCurrentPlatform());
  return join(getEnginesFolder(), `${name}-${version}`, 'node_modules', main);
}

/** Models of the catalogue that tests run with real weights. */
export type TestModel = 'svc-tiny' | 'svc-plus' | 'svc-asr' | 'svc-embed';

/** Returns why tests of a model are skipped, or false if they can run. */
export const getModelSkipReason = (model: TestModel): string | false =>
  model === 'svc-asr' || model === 'svc-embed' ? getSpeechSkipReason(model) : getWeightsSkipReason(model);

/** Returns why tests of a text model are skipped, or false if its weights are installed. */
export function getWeightsSkipReason(model: 'svc-tiny' | 'svc-plus'): string | false {
  if (existsSync(join(getModelsFolder(), `${getWeightsName(model)}.gguf`))) return false;
  return `the weights of ${model} are not on this machine (parley models pull ${model})`;
}

/** Returns why tests of a speech or embedding model are skipped, or false if engine and weights are installed. */
export function getSpeechSkipReason(model: 'svc-asr' | 'svc-embed'): string | false {
  if (!existsSync(getRuntimeFolder())) return 'the speech engine is not on this machine (parley engines add speech)';
  if (existsSync(getSpeechWeightsFolder(model))) return false;
  return `the weights of ${model} are not on this machine (parley models pull ${model})`;
}

/** Returns the folder of a speech or embedding model's weights. */
export const getSpeechWeightsFolder = (model: 'svc-asr' | 'svc-embed'): string =>
  join(getModelsFolder(), `${getWeightsName(model)}.onnx`);

/** Looks up the weights of a model in the catalogue, and resolves an alias of weights such as `default`. */
export function getWeightsName(model: string): string {
  const catalogue: { weights: Record<string, unknown>; models: Record<string, { weights: string }> } = JSON.parse(
    readFileSync(new URL('../catalogue/models.json', import.meta.url), 'utf8'),
  );
  const id = catalogue.models[model]?.weights ?? '';
  return catalogue.weights[id] instanceof Object ? id : String(catalogue.weights[id]);
}
