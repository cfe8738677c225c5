import { readFile, stat } from 'node:fs/promises';
import { ServiceError } from '../../core/error.ts';
import { CODE_INPUTS_BYTES_MAX, CODE_INPUTS_MAX } from '../../core/limits.ts';
import type { InputFile } from './child/messages.ts';
import { createUniqueFileName } from './code-files.ts';

/** Reads the input files. Called as late as possible, because they may be as large in memory as a request allows. */
export type ReadInputFiles = (signal: AbortSignal) => Promise<readonly InputFile[]>;

/**
 * Checks the files that a program may read, and makes their names unique.
 * @throws ServiceError `too-large` for too many files or bytes.
 */
export async function prepareInputFiles(
  files: readonly { readonly name: string; readonly path: string }[],
  signal: AbortSignal,
): Promise<ReadInputFiles> {
  if (files.length > CODE_INPUTS_MAX) {
    throw new ServiceError('too-large', `A program may read at most ${CODE_INPUTS_MAX} files, not ${files.length}.`);
  }
  let bytesLeft = CODE_INPUTS_BYTES_MAX;
  const names = new Set<string>();
  const prepared: { readonly name: string; readonly path: string }[] = [];
  for (const { name, path } of files) {
    signal.throwIfAborted();
    bytesLeft -= (await stat(path)).size;
    if (bytesLeft < 0) {
      const message = `The input files of a program may have at most ${CODE_INPUTS_BYTES_MAX} bytes in total.`;
      throw new ServiceError('too-large', message);
    }
    const uniqueName = createUniqueFileName(name, names);
    names.add(uniqueName);
    prepared.push({ name: uniqueName, path });
  }
  return async (reading) => {
    const inputs: InputFile[] = [];
    for (const { name, path } of prepared) {
      inputs.push({ name, bytes: await readFile(path, { encoding: 'base64', signal: reading }) });
    }
    return inputs;
  };
}
