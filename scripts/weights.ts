import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Step } from './summary.ts';

/** svc-tiny for protocol tests; svc-plus for tools, clients and fill in the middle; then speech and embeddings. */
const MODELS = ['svc-tiny', 'svc-plus', 'svc-asr', 'svc-embed'];

/** Commands that install the speech engine and the weights, in this order. */
const COMMANDS: readonly (readonly string[])[] = [
  ['engines', 'add', 'speech'],
  ['models', 'pull', ...MODELS],
];

const CLI = 'src/cli.ts';

/**
 * Installs the speech engine and the weights of the model tests where a Parley on this machine looks for them, with
 * Parley's own commands, which show their progress. Takes little time if they are installed. Without a network the step
 * is skipped, and so are the tests that need weights.
 */
export async function pullWeights(): Promise<Pick<Step, 'outcome' | 'detail'>> {
  if (!existsSync(CLI))
    return { outcome: 'failed', detail: `${CLI} is missing: run the tests in a checkout of Parley` };
  const failed: string[] = [];
  for (const command of COMMANDS) {
    const end = await runCommand(command);
    if (end !== 0) failed.push(`parley ${command.slice(0, 2).join(' ')} exited with ${end}`);
  }
  return { outcome: failed.length > 0 ? 'skipped' : 'passed', detail: failed.join('; ') };
}

/** Runs a command of the CLI. @returns its exit code or signal. */
async function runCommand(command: readonly string[]): Promise<string | number> {
  const child = spawn(process.execPath, ['scripts/run.mjs', CLI, ...command], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const end = () => child.kill('SIGTERM');
  process.on('exit', end);
  const [code, signal] = await once(child, 'exit');
  process.off('exit', end);
  return signal ?? code;
}
