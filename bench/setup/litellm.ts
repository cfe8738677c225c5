import { join } from 'node:path';
import { prepareBenchFolder } from './bench-folder.ts';
import { runProgram } from './run-program.ts';

const LITELLM_REQUIREMENT = 'litellm[proxy]==1.94.3';

/** Installs the proxy in its own Python environment (700 MB; two minutes). Needs Python 3.10 or later. */
export async function setUpLitellm(logProgress: (text: string) => void): Promise<string> {
  const folder = await prepareBenchFolder('litellm', LITELLM_REQUIREMENT, async (at) => {
    logProgress(`installing ${LITELLM_REQUIREMENT}`);
    await runProgram('python3', ['-m', 'venv', at]);
    await runProgram(join(at, 'bin', 'pip'), ['install', '--quiet', LITELLM_REQUIREMENT]);
  });
  return join(folder, 'bin', 'litellm');
}
