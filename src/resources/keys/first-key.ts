import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { RegionId } from '../../core/region.ts';
import { createFile, replaceFile } from '../../lib/durable-file.ts';
import type { Keys } from './key.ts';
import { isSecretFormat, createSecret } from './secret.ts';
import { getErrorCode } from '../../lib/error-code.ts';

export interface FirstKeyDeps {
  readonly keys: Keys;
  /** File that stores the secret with mode 0600. Its folder must exist. */
  readonly keyFile: string;
  readonly region: RegionId;
}

export interface FirstKey {
  readonly secret: string;
  /** Created by this call: show the secret once. */
  readonly isNew: boolean;
}

/**
 * Provides the first key of an installation: the saved key while it is valid, or a new one if no key exists.
 *
 * The file is written before the row. After a crash in between, the next start registers the secret in the file; of
 * several processes that start together, all use the secret of the one that created the file.
 * @returns undefined if keys exist and the saved one is missing or invalid: the operator manages keys.
 */
export async function ensureFirstKey({ keys, keyFile, region }: FirstKeyDeps): Promise<FirstKey | undefined> {
  const saved = await readSaved(keyFile);
  if (saved !== undefined && (await isValid(keys, saved))) return { secret: saved, isNew: false };
  if (await keys.isEmpty()) {
    const secret = saved ?? (await save(keyFile, createSecret(randomBytes)));
    if (await keys.createFirst({ region, secret })) return { secret, isNew: true };
  }
  // A key exists. If another process created it since the check above, the file holds its secret now.
  const savedByOther = await readSaved(keyFile);
  return savedByOther !== undefined && (await isValid(keys, savedByOther))
    ? { secret: savedByOther, isNew: false }
    : undefined;
}

const isValid = async (keys: Keys, secret: string): Promise<boolean> =>
  (await keys.authenticate(secret)).status === 'valid';

/** @returns undefined if the file is missing or does not hold a secret. */
async function readSaved(keyFile: string): Promise<string | undefined> {
  try {
    const text = (await readFile(keyFile, 'utf8')).trim();
    return isSecretFormat(text) ? text : undefined;
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** @returns the secret in the file: the given one, or that of a faster process. */
async function save(keyFile: string, secret: string): Promise<string> {
  if (await createFile(keyFile, `${secret}\n`, { mode: 0o600 })) return secret;
  const other = await readSaved(keyFile);
  if (other !== undefined) return other;
  await replaceFile(keyFile, `${secret}\n`, { mode: 0o600 });
  return secret;
}
