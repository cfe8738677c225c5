import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));

/** Runs `parley check --json` on a data folder. `result` is undefined if it printed nothing on standard output. */
export async function runParleyCheck(
  data: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly stderr: string; readonly result: ParleyCheckResult | undefined }> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CLI, 'check', '--json', '--no-weights'], {
    env: { ...process.env, PARLEY_DATA: data, PARLEY_HUB_URL: 'off', ...env },
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code, stderr, result: stdout === '' ? undefined : (JSON.parse(stdout) as ParleyCheckResult) };
}

interface ParleyCheckResult {
  readonly ok: boolean;
  readonly problems: readonly { area: string; subject: string; problem: string; action: string }[];
}
