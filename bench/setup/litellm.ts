import { join } from 'node:path';
import { benchFolder } from './bench-folder.ts';
import { runProgram } from './run-program.ts';

const PIN = 'litellm[proxy]==1.94.3';

/** The proxy's program, in a Python environment of its own (700 MB; two minutes). Needs Python 3.10 or later. */
export async function setUpLitellm(note: (text: string) => void): Promise<string> {
  const folder = await benchFolder('litellm', PIN, async (at) => {
    note(`installing ${PIN}`);
    await runProgram('python3', ['-m', 'venv', at]);
    await runProgram(join(at, 'bin', 'pip'), ['install', '--quiet', PIN]);
  });
  return join(folder, 'bin', 'litellm');
}
