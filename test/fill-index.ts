import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const CLI = fileURLToPath(new URL('../src/cli.ts', import.meta.url));

/** Time limit in ms: many times what indexing a few hundred documents takes on a busy machine. */
const INDEX_MS_MAX = 300_000;

/** Adds files, folders and URLs to the local index of the data folder that `env` names, with `parley index add`. */
export async function fillIndex(env: Readonly<Record<string, string>>, sources: readonly string[]): Promise<void> {
  await promisify(execFile)(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', CLI, 'index', 'add', ...sources],
    { env: { ...process.env, ...env }, timeout: INDEX_MS_MAX },
  );
}
