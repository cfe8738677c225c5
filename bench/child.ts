import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A server or peer in a process of its own, asked over IPC, so that its CPU time is its own. */
export interface Child {
  readonly pid: number;
  ask<T>(question: unknown): Promise<T>;
  stop(): Promise<void>;
}

export async function startChild(file: string, env: Readonly<Record<string, string>> = {}): Promise<Child> {
  const child: ChildProcess = fork(fileURLToPath(new URL(file, import.meta.url)), [], {
    env: { ...process.env, ...env },
    execArgv: ['--disable-warning=ExperimentalWarning'],
    // A service's log is written, as in real life, and read by nobody.
    stdio: ['ignore', 'ignore', env['PARLEY_DATA'] ? 'ignore' : 'inherit', 'ipc'],
  });
  const ended = new Promise<never>((_, reject) =>
    child.once('exit', (code) => reject(new Error(`${file} ended: ${code}`))),
  );
  ended.catch(() => undefined);
  const answer = <T>(): Promise<T> =>
    Promise.race([new Promise<T>((resolve) => child.once('message', (message) => resolve(message as T))), ended]);
  await answer();
  return {
    pid: child.pid ?? 0,
    ask<T>(question: unknown) {
      child.send(question as object);
      return answer<T>();
    },
    async stop() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.disconnect();
      await gone;
    },
  };
}

/** The child's side. */
export function answerQuestions(reply: (question: unknown) => unknown): void {
  process.on('message', (question) => {
    void Promise.resolve(reply(question)).then((value) => process.send?.(value ?? null));
  });
  process.on('disconnect', () => setTimeout(() => process.exit(0), 2_000));
  process.send?.('ready');
}

/** Microseconds of CPU, user and system, that this process has used. */
export const cpuMicros = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};
