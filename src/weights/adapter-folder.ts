import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** A LoRA adapter as the library peft saves it. The message is a clause. */
export class AdapterFolderError extends Error {
  override readonly name = 'AdapterFolderError';
}

const CONFIG_FILE = 'adapter_config.json';

const Config = z.object({ peft_type: z.string().nullish(), r: z.int().positive() });

/** Names of a repository on the model hub: OWNER/REPO. */
const REPOSITORY = /^[\w.-]+\/[\w.-]+$/;

/**
 * Reads the rank of the adapter in a folder, which is what vLLM needs to know before its start.
 * @returns undefined if there is no such folder, and the path may name a repository of the hub instead.
 * @throws AdapterFolderError if it is no folder with a LoRA adapter.
 */
export async function readAdapterRank(folder: string): Promise<number | undefined> {
  let names: readonly string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    if (code === 'ENOENT' && REPOSITORY.test(folder)) return undefined;
    throw new AdapterFolderError(`it cannot be read as a folder (${code})`, { cause: error });
  }
  if (!names.includes(CONFIG_FILE)) throw new AdapterFolderError(`it contains no ${CONFIG_FILE}`);
  if (!names.some((name) => /^adapter_model\.(safetensors|bin|pt)$/.test(name)))
    throw new AdapterFolderError('it contains no adapter_model.safetensors');
  const config = Config.safeParse(await readJson(join(folder, CONFIG_FILE))).data;
  if (config && (config.peft_type ?? 'LORA') === 'LORA') return config.r;
  throw new AdapterFolderError(`its ${CONFIG_FILE} does not describe a LoRA adapter`);
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
}
