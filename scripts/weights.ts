import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Step } from './summary.ts';

/** Protocol tests run on the tiny one; tools, clients and fill in the middle need the default one; then speech and vectors. */
const MODELS = ['svc-tiny', 'svc-plus', 'svc-asr', 'svc-embed'];

/** What is put on this machine, in this order: what speech runs on, and the weights. */
const COMMANDS: readonly (readonly string[])[] = [
  ['engines', 'add', 'speech'],
  ['models', 'pull', ...MODELS],
];

const PULLER = 'src/cli.ts';

/**
 * Puts the speech engine and the weights of the model tests where a Parley of this machine looks for them, by our own
 * commands, which show their progress. Quick when they are there already. Without a network it is skipped, and so are the
 * tests that need them.
 */
export async function pullWeights(): Promise<Pick<Step, 'outcome' | 'detail'>> {
  if (!existsSync(PULLER)) return { outcome: 'failed', detail: `${PULLER} is missing: nothing can pull the weights` };
  const failed: string[] = [];
  for (const command of COMMANDS) {
    const end = await run(command);
    if (end !== 0) failed.push(`parley ${command.slice(0, 2).join(' ')} ended with ${end}`);
  }
  return { outcome: failed.length > 0 ? 'skipped' : 'passed', detail: failed.join('; ') };
}

/** What the command ended with. */
async function run(command: readonly string[]): Promise<string | number> {
  const child = spawn(process.execPath, ['scripts/run.mjs', PULLER, ...command], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const end = () => child.kill('SIGTERM');
  process.on('exit', end);
  const [code, signal] = await once(child, 'exit');
  process.off('exit', end);
  return signal ?? code;
}
