import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createFile } from '../lib/durable-file.ts';

/** Reads the secret in a file of this user; `create` makes the file at the first start. Deleting it makes a new secret. */
export async function readOrCreateSecret(
  file: string,
  create = () => randomBytes(32).toString('hex'),
): Promise<string> {
  await createFile(file, `${create()}\n`, { mode: 0o600 });
  return (await readFile(file, 'utf8')).trim();
}
