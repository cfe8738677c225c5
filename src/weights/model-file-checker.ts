import { stat } from 'node:fs/promises';
import { findAdapterProblem } from './find-adapter-problem.ts';
import { GgufError, readGgufHeader } from './gguf-header.ts';

/** Returns what is wrong with a file, as a clause, or undefined. A later file is what the first must fit. */
type FindProblem<Paths extends readonly string[]> = (...paths: Paths) => Promise<string | undefined>;

/** Creates a check of GGUF files. A file is read again only when its size or modification time has changed. */
export const createModelFileChecker = (): FindProblem<[path: string]> =>
  createChecker(async (path) => {
    await readGgufHeader(path);
    return undefined;
  });

/** Creates a check of LoRA adapters for a model, which reads files as `createModelFileChecker` does. */
export const createAdapterFileChecker = (): FindProblem<[adapterFile: string, modelFile: string]> =>
  createChecker(findAdapterProblem);

/** @param find May throw a GgufError. */
function createChecker<Paths extends readonly string[]>(find: FindProblem<Paths>): FindProblem<Paths> {
  const results = new Map<string, { readonly version: string; readonly problem: Promise<string | undefined> }>();
  return async (...paths) => {
    const versions: string[] = [];
    for (const path of paths) {
      const stats = await stat(path).catch(describeSystemError);
      if (typeof stats === 'string') return stats;
      versions.push(`${stats.size} ${stats.mtimeMs}`);
    }
    const version = versions.join();
    const key = paths.join('\n');
    const known = results.get(key);
    if (known?.version === version) return await known.problem;
    const problem = find(...paths).catch(describeGgufError);
    results.set(key, { version, problem });
    // A file that could not be read is read again.
    problem.catch(() => results.delete(key));
    return await problem.catch(describeSystemError);
  };
}

/** Describes why a file cannot be read. One such file must not keep the service from starting. */
function describeSystemError(error: unknown): string {
  if (error instanceof Error && 'code' in error) return `it cannot be read (${String(error.code)})`;
  throw error;
}

function describeGgufError(error: unknown): string {
  if (error instanceof GgufError) return error.message;
  throw error;
}
