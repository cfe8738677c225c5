import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

/** Generous, because the machine may be busy. */
export const READY_MS_MAX = 60_000;

export interface RunningServer {
  readonly child: ChildProcess;
  readonly url: string;
  readonly key: string;
}

/** Starts a service in its own process, one after another with the same data. Tests kill it. */
export interface RestartableServer {
  start(): Promise<RunningServer>;
  stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

interface RestartableServerOptions {
  readonly data: string;
  readonly env: Readonly<Record<string, string>>;
  /** Default: the default model accepts requests. */
  readonly isReady?: (url: string) => Promise<boolean>;
}

export function createRestartableServer({ data, env, isReady }: RestartableServerOptions): RestartableServer {
  let running: ChildProcess | undefined;
  return {
    async start() {
      const child = spawn(
        process.execPath,
        ['--disable-warning=ExperimentalWarning', CLI, 'serve', '--port', '0', '--data', data, '--no-first-answer'],
        {
          stdio: ['ignore', 'pipe', 'pipe'],
          env: {
            ...process.env,
            PARLEY_HUB_URL: 'off',
            PARLEY_LOG_LEVEL: 'error',
            PARLEY_CODE_INTERPRETER_LEVEL: 'off',
            ...env,
          },
        },
      );
      running = child;
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => (output += text));
      const url = await until('the server is ready', { timeoutMs: READY_MS_MAX }, async () => {
        assert.equal(child.exitCode ?? child.signalCode, null, output);
        const address = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
        if (address === undefined) return undefined;
        const isUp = isReady ? await isReady(address) : /Chat completions +on/.test(output);
        return isUp ? address : undefined;
      });
      return { child, url, key: (await readFile(join(data, 'key'), 'utf8')).trim() };
    },
    async stop(signal) {
      if (!running || running.exitCode !== null || running.signalCode !== null) return;
      running.kill(signal);
      await once(running, 'exit');
    },
  };
}

/** Sends a request with the server's first key. */
export const send = ({ url, key }: RunningServer, method: string, path: string, body?: object): Promise<Response> =>
  fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
