import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { modelsFolder } from '../models-folder.ts';

/** Names of the catalogue's weights that these tests use. */
export const TINY = 'smollm2-135m-instruct-q4_1';
export const SMALL = 'qwen2.5-coder-0.5b-instruct-q4_k_m';

/** The file of a set of weights: in a folder of PARLEY_MODELS, else in the default models folder. */
export function weightsFile(id: string): string | undefined {
  const named = (process.env.PARLEY_MODELS ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...named, modelsFolder()].map((folder) => join(folder, `${id}.gguf`)).find((path) => existsSync(path));
}

/** Why tests on these weights are skipped, or false when they are there. */
export const lacks = (id: string): string | false =>
  weightsFile(id) === undefined && `the weights ${id} are not on this machine (parley models pull)`;
