import { once } from 'node:events';
import { finishGroup, spawnGroup } from './process-group.ts';
import type { Step } from './summary.ts';

/**
 * Runs a program that installs what tests need, and that prints its own progress and errors.
 * @returns a failed step unless it exits with 0.
 */
export async function runPreparation(file: string): Promise<Pick<Step, 'outcome' | 'detail'>> {
  const child = spawnGroup(file, [], { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  await finishGroup(child);
  const end = signal ?? code;
  return end === 0 ? { outcome: 'passed', detail: '' } : { outcome: 'failed', detail: `${file} exited with ${end}` };
}
