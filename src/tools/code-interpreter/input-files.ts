import { readFile, stat } from 'node:fs/promises';
import { ServiceError } from '../../core/error.ts';
import { CODE_INPUTS_BYTES_MAX, CODE_INPUTS_MAX } from '../../core/limits.ts';
import type { InputFile } from './child/messages.ts';
import { fileName } from './code-files.ts';

/** Reads them: they are as large in memory as a request would like, so nobody holds them who has no process to hand them to. */
export type ReadInputs = (signal: AbortSignal) => Promise<readonly InputFile[]>;

/**
 * What a program may read, with names that fit into its folder: two of the same name are told apart.
 * @throws ServiceError `too-large` for more files or bytes than there may be.
 */
export async function findInputs(
  files: readonly { readonly name: string; readonly path: string }[],
  signal: AbortSignal,
): Promise<ReadInputs> {
  if (files.length > CODE_INPUTS_MAX) {
    throw new ServiceError('too-large', `A program may read ${CODE_INPUTS_MAX} files, and these are ${files.length}.`);
  }
  let left = CODE_INPUTS_BYTES_MAX;
  const names = new Set<string>();
  const found: { readonly name: string; readonly path: string }[] = [];
  for (const { name, path } of files) {
    signal.throwIfAborted();
    left -= (await stat(path)).size;
    if (left < 0) {
      const message = `Files that a program may read have at most ${CODE_INPUTS_BYTES_MAX} bytes together.`;
      throw new ServiceError('too-large', message);
    }
    const own = fileName(name, names);
    names.add(own);
    found.push({ name: own, path });
  }
  return async (reading) => {
    const inputs: InputFile[] = [];
    for (const { name, path } of found) {
      inputs.push({ name, bytes: await readFile(path, { encoding: 'base64', signal: reading }) });
    }
    return inputs;
  };
}
