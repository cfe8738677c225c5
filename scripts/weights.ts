import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Step } from './summary.ts';

/** Protocol tests run on the tiny one; tools, clients and fill in the middle need the default one. */
const MODELS = ['svc-tiny', 'svc-plus'];

const PULLER = 'src/cli.ts';

/**
 * Puts the weights of the model tests into the models folder by our own puller, which shows its progress. Quick when
 * they are there already. Without a network it is skipped, and so are the tests that need them.
 */
export async function pullWeights(): Promise<Pick<Step, 'outcome' | 'detail'>> {
  if (!existsSync(PULLER)) return { outcome: 'failed', detail: `${PULLER} is missing: nothing can pull the weights` };
  const child = spawn(process.execPath, ['scripts/run.mjs', PULLER, 'models', 'pull', ...MODELS], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const end = () => child.kill('SIGTERM');
  process.on('exit', end);
  const [code, signal] = await once(child, 'exit');
  process.off('exit', end);
  if (code === 0) return { outcome: 'passed', detail: '' };
  return { outcome: 'skipped', detail: `parley models pull ended with ${signal ?? `code ${code}`}` };
}
