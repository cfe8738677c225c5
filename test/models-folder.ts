import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { speechRuntime } from '../src/weights/runtime/speech-runtime.ts';
import { thisPlatform } from '../src/weights/runtime/this-platform.ts';

/** The models folder of a Parley that was told nothing else: where `parley models pull` puts weights on this machine. */
export function modelsFolder(env: NodeJS.ProcessEnv = process.env): string {
  return env.PARLEY_MODELS_FOLDER ?? join(dataFolder(env), 'models');
}

/** And where `parley engines add speech` puts the speech engine. */
export function enginesFolder(env: NodeJS.ProcessEnv = process.env): string {
  return env.PARLEY_ENGINES_FOLDER ?? join(dataFolder(env), 'engines');
}

const dataFolder = (env: NodeJS.ProcessEnv): string =>
  env.PARLEY_DATA ?? join(env.XDG_DATA_HOME ?? join(homedir(), '.local', 'share'), 'parley');

/** The package of the speech engine's runtime as engines load it, in the version that this Parley installs. */
export function runtimeFolder(): string {
  const { name, version, main } = speechRuntime(thisPlatform());
  return join(enginesFolder(), `${name}-${version}`, 'node_modules', main);
}

/** Models of the catalogue that tests run on real weights. */
export type TestedModel = 'svc-tiny' | 'svc-plus' | 'svc-asr' | 'svc-embed';

/** Why tests on this model are skipped, or false where it can run. */
export const lacksModel = (model: TestedModel): string | false =>
  model === 'svc-asr' || model === 'svc-embed' ? lacksSpeech(model) : lacksWeights(model);

/** The same for those that generate: false when its weights are there. */
export function lacksWeights(model: 'svc-tiny' | 'svc-plus'): string | false {
  if (existsSync(join(modelsFolder(), `${weightsOf(model)}.gguf`))) return false;
  return `the weights of ${model} are not on this machine (parley models pull ${model})`;
}

/** The same for those that run on the speech engine. */
export function lacksSpeech(model: 'svc-asr' | 'svc-embed'): string | false {
  if (!existsSync(runtimeFolder())) return 'the speech engine is not on this machine (parley engines add speech)';
  if (existsSync(speechWeights(model))) return false;
  return `the weights of ${model} are not on this machine (parley models pull ${model})`;
}

/** The folder of their weights. */
export const speechWeights = (model: 'svc-asr' | 'svc-embed'): string =>
  join(modelsFolder(), `${weightsOf(model)}.onnx`);

/** By the catalogue, which may give them another name first. */
function weightsOf(model: string): string {
  const catalogue: { weights: Record<string, unknown>; models: Record<string, { weights: string }> } = JSON.parse(
    readFileSync(new URL('../catalogue/models.json', import.meta.url), 'utf8'),
  );
  const id = catalogue.models[model]?.weights ?? '';
  return catalogue.weights[id] instanceof Object ? id : String(catalogue.weights[id]);
}
