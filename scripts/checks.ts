import { execFile } from 'node:child_process';

export interface Check {
  readonly name: string;
  /** A command that this project installs, and its arguments. */
  readonly command: readonly [string, ...string[]];
}

/** What is checked without running anything of ours. */
export const CHECKS: readonly Check[] = [
  { name: 'format', command: ['oxfmt/bin/oxfmt', '--check'] },
  { name: 'lint', command: ['oxlint/bin/oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'types', command: ['typescript/bin/tsc', '-p', '.'] },
];

/** Longer than a cold check takes on a slow machine that is busy otherwise, in ms: of 14 s, 73 were seen. */
const CHECK_MS_MAX = 600_000;

/** Megabytes of findings; beyond, the check has failed anyway. */
const FINDINGS_MAX = 8 * 1024 * 1024;

/** @returns what the check found, or undefined when all is well. */
export function runCheck({ command: [file, ...args] }: Check): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [`node_modules/${file}`, ...args],
      { timeout: CHECK_MS_MAX, maxBuffer: FINDINGS_MAX, env: { ...process.env, NO_COLOR: '1' } },
      (error, stdout, stderr) => resolve(error ? `${stdout}${stderr}`.trim() || error.message : undefined),
    );
  });
}
