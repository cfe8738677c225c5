import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createFile } from '../lib/durable-file.ts';

/** Made at the first start; opens /ready and /metrics to machines elsewhere. */
export async function operatorToken(file: string): Promise<string> {
  await createFile(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  return (await readFile(file, 'utf8')).trim();
}
