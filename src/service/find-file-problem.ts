import type { ModelEntry } from '../catalogue/model.ts';
import { listPartFiles } from '../core/split-model-file.ts';
import { createModelFileChecker } from '../weights/model-file-checker.ts';

/** Returns what is wrong with the model file of an entry, as a clause, or undefined. */
export type FindFileProblem = (entry: ModelEntry, path: string) => Promise<string | undefined>;

/** Creates a check of GGUF files, which llama.cpp reads. Files for other programs, and folders, are not checked. */
export function createFindFileProblem(): FindFileProblem {
  const findProblem = createModelFileChecker();
  return async ({ runner }, path) => {
    const isGguf = runner.type === 'weights' || path.toLowerCase().endsWith('.gguf');
    if (!isGguf) return undefined;
    for (const part of listPartFiles(path)) {
      const problem = await findProblem(part);
      if (problem !== undefined) return part === path ? problem : `its part ${part}: ${problem}`;
    }
    return undefined;
  };
}
