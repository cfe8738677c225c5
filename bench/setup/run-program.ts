import { spawn } from 'node:child_process';

/** Runs one step of a set-up and waits for its end. Shows its output. @throws Error when it fails. */
export async function runProgram(command: string, args: readonly string[], cwd?: string): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 2, 2], ...(cwd ? { cwd } : {}) });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} exited with code ${String(code)}`);
}
