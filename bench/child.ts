import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A server or peer in its own process, controlled over IPC. A separate process makes its CPU time measurable. */
export interface BenchChild {
  readonly pid: number;
  request<T>(message: unknown): Promise<T>;
  stop(): Promise<void>;
}

export async function startChild(file: string, env: Readonly<Record<string, string>> = {}): Promise<BenchChild> {
  const child: ChildProcess = fork(fileURLToPath(new URL(file, import.meta.url)), [], {
    env: { ...process.env, ...env },
    execArgv: ['--disable-warning=ExperimentalWarning'],
    // The service writes its log as in production, but nothing reads it.
    stdio: ['ignore', 'ignore', env['PARLEY_DATA'] ? 'ignore' : 'inherit', 'ipc'],
  });
  const exited = new Promise<never>((_, reject) =>
    child.once('exit', (code) => reject(new Error(`${file} exited with code ${code}`))),
  );
  exited.catch(() => undefined);
  const receive = <T>(): Promise<T> =>
    Promise.race([new Promise<T>((resolve) => child.once('message', (message) => resolve(message as T))), exited]);
  await receive();
  return {
    pid: child.pid ?? 0,
    request<T>(payload: unknown) {
      child.send(payload as object);
      return receive<T>();
    },
    async stop() {
      const closed = new Promise((resolve) => child.once('exit', resolve));
      child.disconnect();
      await closed;
    },
  };
}

/** Serves requests of the parent process; runs in the child process. */
export function serveRequests(reply: (message: unknown) => unknown): void {
  process.on('message', (payload) => {
    void Promise.resolve(reply(payload)).then((value) => process.send?.(value ?? null));
  });
  process.on('disconnect', () => setTimeout(() => process.exit(0), 2_000));
  process.send?.('ready');
}

/** Returns the CPU time that this process has used, user and system, in microseconds. */
export const getCpuMicros = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};
