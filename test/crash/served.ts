import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

/** The machine may be busy. */
export const READY_MS_MAX = 60_000;

export interface Server {
  readonly child: ChildProcess;
  readonly url: string;
  readonly key: string;
}

/** A service in a process of its own, one after the other on the same data, which a test kills. */
export interface Served {
  start(): Promise<Server>;
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

interface ServedOptions {
  readonly data: string;
  readonly env: Readonly<Record<string, string>>;
  /** Default: its default model takes requests. */
  readonly isReady?: (url: string) => Promise<boolean>;
}

export function createServed({ data, env, isReady }: ServedOptions): Served {
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
      const url = await until('the server is ready', { withinMs: READY_MS_MAX }, async () => {
        assert.equal(child.exitCode ?? child.signalCode, null, output);
        const address = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
        if (address === undefined) return undefined;
        const isUp = isReady ? await isReady(address) : /Chat completions +on/.test(output);
        return isUp ? address : undefined;
      });
      return { child, url, key: (await readFile(join(data, 'key'), 'utf8')).trim() };
    },
    async end(signal) {
      if (!running || running.exitCode !== null || running.signalCode !== null) return;
      running.kill(signal);
      await once(running, 'exit');
    },
  };
}

/** A request as the server's first key may make it. */
export const send = ({ url, key }: Server, method: string, path: string, body?: object): Promise<Response> =>
  fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
