import { open } from 'node:fs/promises';
import { ServiceError } from '../../core/error.ts';
import { CODE_INPUTS_BYTES_MAX, CODE_INPUTS_MAX } from '../../core/limits.ts';
import type { InputFile } from './child/messages.ts';
import { fileName } from './code-files.ts';

/**
 * What a program may read, with names that fit into its folder: two of the same name are told apart.
 * @throws ServiceError `too-large` for more files or bytes than there may be.
 */
export async function readInputs(
  files: readonly { readonly name: string; readonly path: string }[],
  signal: AbortSignal,
): Promise<readonly InputFile[]> {
  if (files.length > CODE_INPUTS_MAX) {
    throw new ServiceError('too-large', `A program may read ${CODE_INPUTS_MAX} files, and these are ${files.length}.`);
  }
  let left = CODE_INPUTS_BYTES_MAX;
  const names = new Set<string>();
  const inputs: InputFile[] = [];
  for (const { name, path } of files) {
    signal.throwIfAborted();
    const file = await open(path);
    try {
      left -= (await file.stat()).size;
      if (left < 0) {
        const message = `Files that a program may read have at most ${CODE_INPUTS_BYTES_MAX} bytes together.`;
        throw new ServiceError('too-large', message);
      }
      const own = fileName(name, names);
      names.add(own);
      inputs.push({ name: own, bytes: (await file.readFile()).toString('base64') });
    } finally {
      await file.close();
    }
  }
  return inputs;
}
