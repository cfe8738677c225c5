import { stat } from 'node:fs/promises';
import { GgufError, readGgufHeader } from './gguf-header.ts';

/**
 * Creates a check of GGUF files, which returns what is wrong with a file, as a clause, or undefined. A file is read again only when
 * its size or modification time has changed.
 */
export function createModelFileChecker(): (path: string) => Promise<string | undefined> {
  const results = new Map<string, { readonly version: string; readonly problem: Promise<string | undefined> }>();
  return async (path) => {
    const stats = await stat(path).catch(describeSystemError);
    if (typeof stats === 'string') return stats;
    const { size, mtimeMs } = stats;
    const version = `${size} ${mtimeMs}`;
    const known = results.get(path);
    if (known?.version === version) return await known.problem;
    const problem = findProblem(path);
    results.set(path, { version, problem });
    // A file that could not be read is read again.
    problem.catch(() => results.delete(path));
    return await problem.catch(describeSystemError);
  };
}

/** Describes why a file cannot be read. One such file must not keep the service from starting. */
function describeSystemError(error: unknown): string {
  if (error instanceof Error && 'code' in error) return `it cannot be read (${String(error.code)})`;
  throw error;
}

const findProblem = (path: string): Promise<string | undefined> =>
  readGgufHeader(path).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof GgufError) return error.message;
      throw error;
    },
  );
