import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { getModelsFolder } from '../models-folder.ts';

/** Ids of the weights in the catalogue that these tests use. */
export const TINY = 'smollm2-135m-instruct-q4_1';
export const SMALL = 'qwen2.5-coder-0.5b-instruct-q4_k_m';

/** Finds the file of weights by their id, in the folders of PARLEY_MODELS, then in the default models folder. */
export function findWeightsFile(id: string): string | undefined {
  const namedFolders = (process.env.PARLEY_MODELS ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...namedFolders, getModelsFolder()]
    .map((folder) => join(folder, `${id}.gguf`))
    .find((path) => existsSync(path));
}

/** Returns why tests on these weights are skipped, or false when the file exists. */
export const getWeightsFileSkipReason = (id: string): string | false =>
  findWeightsFile(id) === undefined && `the weights ${id} are not on this machine (parley models pull)`;
