import { spawn } from 'node:child_process';

/** Runs one step of a set-up to its end; what it prints is shown. @throws Error when it fails. */
export async function runProgram(command: string, args: readonly string[], cwd?: string): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 2, 2], ...(cwd ? { cwd } : {}) });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${String(code)}`);
}
