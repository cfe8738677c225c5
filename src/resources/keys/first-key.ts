import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { RegionId } from '../../core/region.ts';
import { createFile, replaceFile } from '../../lib/durable-file.ts';
import type { Keys } from './key.ts';
import { isSecret, newSecret, type Random } from './secret.ts';

export interface FirstKeyNeeds {
  readonly keys: Keys;
  /** Where the secret is kept for its owner, mode 0600. Its folder exists. */
  readonly keyFile: string;
  readonly region: RegionId;
  readonly random?: Random;
}

export interface FirstKey {
  readonly secret: string;
  /** Made just now: it is to be shown, once. */
  readonly isNew: boolean;
}

/**
 * The key of a newcomer: the saved one while it is valid, or a new one where there is no key at all.
 *
 * The file comes first and the row second. Killed in between, the next start registers what the file says, and of
 * several processes that start at once all take the secret of the one whose file was first.
 * @returns undefined when there are keys and the saved one is gone or not valid any more: the operator has taken over.
 */
export async function ensureFirstKey({
  keys,
  keyFile,
  region,
  random = randomBytes,
}: FirstKeyNeeds): Promise<FirstKey | undefined> {
  const saved = await readSaved(keyFile);
  if (saved !== undefined && (await isValid(keys, saved))) return { secret: saved, isNew: false };
  if (await keys.isEmpty()) {
    const secret = saved ?? (await save(keyFile, newSecret(random)));
    if (await keys.createFirst({ region, secret })) return { secret, isNew: true };
  }
  // There is a key. If another process made it since we looked, its secret is in the file now.
  const later = await readSaved(keyFile);
  return later !== undefined && (await isValid(keys, later)) ? { secret: later, isNew: false } : undefined;
}

const isValid = async (keys: Keys, secret: string): Promise<boolean> =>
  (await keys.authenticate(secret)).status === 'valid';

/** Undefined where there is no file, or something that never was a key. */
async function readSaved(keyFile: string): Promise<string | undefined> {
  try {
    const text = (await readFile(keyFile, 'utf8')).trim();
    return isSecret(text) ? text : undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** @returns the secret that the file has now: ours, or that of a process that was faster. */
async function save(keyFile: string, secret: string): Promise<string> {
  if (await createFile(keyFile, `${secret}\n`, { mode: 0o600 })) return secret;
  const other = await readSaved(keyFile);
  if (other !== undefined) return other;
  await replaceFile(keyFile, `${secret}\n`, { mode: 0o600 });
  return secret;
}
