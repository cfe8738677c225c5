import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { findPython } from './clients/python.ts';

/** A folder for PATH with `llama-server`: the real server of llama.cpp, from a Python package. */
export const LLAMA_SERVER_FOLDER = fileURLToPath(new URL('__fixtures__/llama-server/', import.meta.url));

/** Returns why tests with llama-server are skipped, or false if they can run. */
export const getLlamaServerSkipReason = (): string | false =>
  findPython('xllamacpp', 'llama-server').skipReason ?? false;

export interface LlamaServer {
  /** Base URL without a version. */
  readonly url: string;
  /** Counts slots that are computing. */
  countBusySlots(): Promise<number>;
  /** Kills the server with SIGKILL. */
  kill(): void;
  /** Starts the killed server again at the same address. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface LlamaServerOptions {
  readonly modelFile: string;
  readonly slots: number;
  /** Context size of each slot. */
  readonly contextTokens: number;
  /** Further arguments of the command line. */
  readonly extraArguments?: readonly string[];
}

/** Time limit for a start in ms; with the smallest model it takes a second or two. */
const START_MS_MAX = 60_000;

/** Lines of its log that are kept to explain a failed start. */
const OUTPUT_LINES_MAX = 1_000;

/** Starts llama-server with one thread, on a port that the system chooses. */
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
        ...(options.extraArguments ?? []),
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    return { child, url: await readAddress(child) };
  };
  let running = await start(0);
  const { url } = running;
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    const { child } = running;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  return {
    url,
    async countBusySlots() {
      const slots = (await (await fetch(`${url}/slots`)).json()) as readonly { readonly is_processing: boolean }[];
      return slots.filter((slot) => slot.is_processing).length;
    },
    kill: () => void running.child.kill('SIGKILL'),
    async restart() {
      await end('SIGKILL');
      running = await start(Number(new URL(url).port));
      assert.equal(running.url, url);
    },
    close: () => end('SIGTERM'),
  };
}

/**
 * Reads the output until the server listens, and on to its end, because a full pipe would block it.
 * @throws the last output lines if it exits.
 */
function readAddress(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const output: string[] = [];
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`llama-server does not listen after ${START_MS_MAX} ms: ${output.slice(-5).join('\n')}`));
    }, START_MS_MAX);
    child.on('error', reject);
    child.on('exit', () => clearTimeout(timer));
    child.on('exit', (code) => reject(new Error(`llama-server ended with ${code}: ${output.slice(-5).join('\n')}`)));
    assert.ok(child.stdout && child.stderr);
    createInterface(child.stderr).on('line', (line) => {
      if (output.length < OUTPUT_LINES_MAX) output.push(line);
    });
    createInterface(child.stdout).on('line', (line) => {
      const [, url] = /^main: server is listening on (\S+)$/.exec(line) ?? [];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    });
  });
}
