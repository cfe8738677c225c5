import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createFile } from '../lib/durable-file.ts';

/** Reads the token that gives other machines access to /ready and /metrics; creates it at the first start. */
export async function readOperatorToken(file: string): Promise<string> {
  await createFile(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  return (await readFile(file, 'utf8')).trim();
}
