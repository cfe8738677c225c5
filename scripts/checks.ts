import { execFile } from 'node:child_process';
import type { Step } from './summary.ts';

export interface Check {
  readonly name: string;
  /** Script of an installed package below node_modules, and its arguments. */
  readonly command: readonly [string, ...string[]];
}

/** Checks that run none of Parley's code. */
export const CHECKS: readonly Check[] = [
  { name: 'format', command: ['oxfmt/bin/oxfmt', '--check'] },
  { name: 'lint', command: ['oxlint/bin/oxlint', '--type-aware', '--deny-warnings'] },
  // After a change of a few files, an incremental check takes a sixth of the CPU time of a complete one.
  {
    name: 'types',
    command: ['typescript/bin/tsc', '-p', '.', '--incremental', '--tsBuildInfoFile', '.cache/types.tsbuildinfo'],
  },
];

/** Time limit of a check in ms. A cold check takes 14 s on an idle machine; 73 s were measured on a busy one. */
const CHECK_MS_MAX = 600_000;

/** Bytes of output that are kept. A check with more output has failed anyway. */
const OUTPUT_BYTES_MAX = 8 * 1024 * 1024;

/** Runs a check. The detail of a failed step is its output. */
export function runCheck({ command: [file, ...args] }: Check): Promise<Pick<Step, 'outcome' | 'detail'>> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [`node_modules/${file}`, ...args],
      { timeout: CHECK_MS_MAX, maxBuffer: OUTPUT_BYTES_MAX, env: { ...process.env, NO_COLOR: '1' } },
      (error, stdout, stderr) =>
        resolve(
          error
            ? { outcome: 'failed', detail: `${stdout}${stderr}`.trim() || error.message }
            : { outcome: 'passed', detail: '' },
        ),
    );
  });
}
