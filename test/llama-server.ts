import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { findPython } from './clients/python.ts';

/** The folder to put on PATH for whoever starts `llama-server`: the real server of llama.cpp, out of a Python package. */
export const LLAMA_SERVER_FOLDER = fileURLToPath(new URL('__fixtures__/llama-server/', import.meta.url));

/** Why tests with it are skipped, or false. */
export const lacksLlamaServer = (): string | false => findPython('xllamacpp', 'llama-server').lacks ?? false;

export interface LlamaServer {
  /** Without a version. */
  readonly url: string;
  /** Slots that are computing now. */
  busySlots(): Promise<number>;
  /** Ends it as the kernel would. */
  kill(): void;
  /** At the same address, where it was killed. */
  revive(): Promise<void>;
  close(): Promise<void>;
}

export interface LlamaServerOptions {
  readonly modelFile: string;
  readonly slots: number;
  /** Of each slot. */
  readonly contextTokens: number;
  /** Further words of its command line. */
  readonly more?: readonly string[];
}

/** With the smallest model it takes a second or two. */
const STARTS_WITHIN_MS = 60_000;

/** Of what it logs: enough to say why it did not start. */
const LINES_KEPT_MAX = 1_000;

/** Starts it on a port that the system chooses, with one thread. */
export async function startLlamaServer(options: LlamaServerOptions): Promise<LlamaServer> {
  const start = async (port: number) => {
    const child = spawn(
      `${LLAMA_SERVER_FOLDER}llama-server`,
      [
        `--model=${options.modelFile}`,
        '--host=127.0.0.1',
        `--port=${port}`,
        '--threads=1',
        `--parallel=${options.slots}`,
        `--ctx-size=${options.slots * options.contextTokens}`,
        '--slots',
        '--no-webui',
        ...(options.more ?? []),
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    return { child, url: await addressOf(child) };
  };
  let running = await start(0);
  const { url } = running;
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    const { child } = running;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  };
  return {
    url,
    async busySlots() {
      const slots = (await (await fetch(`${url}/slots`)).json()) as readonly { readonly is_processing: boolean }[];
      return slots.filter((slot) => slot.is_processing).length;
    },
    kill: () => void running.child.kill('SIGKILL'),
    async revive() {
      await end('SIGKILL');
      running = await start(Number(new URL(url).port));
      assert.equal(running.url, url);
    },
    close: () => end('SIGTERM'),
  };
}

/** Reads what it says to the end: a full pipe would stop it. @throws what it said, where it ends without listening. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const said: string[] = [];
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`llama-server does not listen after ${STARTS_WITHIN_MS} ms: ${said.slice(-5).join('\n')}`));
    }, STARTS_WITHIN_MS);
    child.on('error', reject);
    child.on('exit', () => clearTimeout(timer));
    child.on('exit', (code) => reject(new Error(`llama-server ended with ${code}: ${said.slice(-5).join('\n')}`)));
    assert.ok(child.stdout && child.stderr);
    createInterface(child.stderr).on('line', (line) => {
      if (said.length < LINES_KEPT_MAX) said.push(line);
    });
    createInterface(child.stdout).on('line', (line) => {
      const [, url] = /^main: server is listening on (\S+)$/.exec(line) ?? [];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    });
  });
}
