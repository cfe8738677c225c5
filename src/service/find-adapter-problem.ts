import { getLoadedAdapters, type ModelEntry } from '../catalogue/model.ts';
import { createAdapterFileChecker } from '../weights/model-file-checker.ts';

/** Returns what is wrong with an adapter that the engine of an entry loads, as a sentence without its end, or undefined. */
export type FindAdapterProblem = (
  entry: Pick<ModelEntry, 'runner'>,
  modelFile: string | undefined,
) => Promise<string | undefined>;

/** Creates a check of LoRA adapters for local model files. */
export function createFindAdapterProblem(): FindAdapterProblem {
  const findFileProblem = createAdapterFileChecker();
  return async (entry, modelFile) => {
    if (modelFile === undefined) return undefined;
    for (const { name, base, path } of getLoadedAdapters(entry)) {
      const problem = await findFileProblem(path, modelFile);
      if (problem !== undefined) return `models.${base}.adapters.${name}: ${path} cannot be used: ${problem}`;
    }
    return undefined;
  };
}
