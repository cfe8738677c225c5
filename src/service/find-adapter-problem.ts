import { getLoadedAdapters, type Adapter, type ModelEntry } from '../catalogue/model.ts';
import { AdapterFolderError, readAdapterRank } from '../weights/adapter-folder.ts';
import { createAdapterFileChecker } from '../weights/model-file-checker.ts';

/**
 * Returns what is wrong with an adapter that the engine of an entry loads, as a sentence without its end, or undefined.
 * @param modelFile Path of the entry's local weights, if it has some.
 */
export type FindAdapterProblem = (
  entry: Pick<ModelEntry, 'runner'>,
  modelFile: string | undefined,
) => Promise<string | undefined>;

/** Creates a check of LoRA adapters: of folders for vLLM, else of GGUF files for local weights. */
export function createFindAdapterProblem(): FindAdapterProblem {
  const findFileProblem = createAdapterFileChecker();
  return async (entry, modelFile) => {
    const { runner } = entry;
    const isForVllm = runner.type === 'program' && runner.program.command === 'vllm';
    const findProblem = async ({ path }: Adapter): Promise<string | undefined> => {
      if (isForVllm) return await findFolderProblem(path);
      return modelFile === undefined ? undefined : await findFileProblem(path, modelFile);
    };
    for (const adapter of getLoadedAdapters(entry)) {
      const problem = await findProblem(adapter);
      if (problem !== undefined)
        return `models.${adapter.base}.adapters.${adapter.name}: ${adapter.path} cannot be used: ${problem}`;
    }
    return undefined;
  };
}

const findFolderProblem = (folder: string): Promise<string | undefined> =>
  readAdapterRank(folder).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof AdapterFolderError) return error.message;
      throw error;
    },
  );
