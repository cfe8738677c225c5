import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import type { ClientRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import type { TextEngine } from '../../src/engines/engine.ts';
import type { SchedulerHealth } from '../../src/engines/llama/protocol.ts';
import { createLlamaEngine } from '../../src/engines/llama/llama-engine.ts';
import { createLlamaProcess } from '../../src/engines/llama/llama-process.ts';
import { findWeightsFile } from './weights.ts';

export const CONTEXT_TOKENS = 2_048;
export const SEQUENCES = 4;

/** The embedded engine on real weights, with direct access to its process. */
export interface TestLlama {
  readonly engine: TextEngine;
  readonly pid: number;
  readonly runFolder: string;
  /** Opens a raw HTTP request to the engine process. */
  open(method: string, path: string): ClientRequest;
  health(): Promise<SchedulerHealth>;
  /** Kills the process with SIGKILL. */
  kill(): void;
  close(): Promise<void>;
}

/**
 * @param modelFile Default: the file of the weights with that id.
 * @param contextTokens Undefined: what the engine chooses by memory.
 */
export async function openTestLlama(
  weights: string,
  modelFile = findWeightsFile(weights),
  { contextTokens }: { readonly contextTokens?: number | undefined } = { contextTokens: CONTEXT_TOKENS },
): Promise<TestLlama> {
  assert.ok(modelFile !== undefined, 'the weights are missing');
  const runFolder = await mkdtemp(join(tmpdir(), 'parley-model-'));
  const engineProcess = await createLlamaProcess(
    {
      name: weights,
      modelFile,
      contextTokens,
      sequences: SEQUENCES,
      threads: 1,
      gpu: false,
      workspaceShare: 0.5,
      queueLengthMax: 64,
      queueWaitMsMax: 60_000,
      runFolder,
    },
    { info: () => undefined, warn: () => undefined },
  );
  const engine = createLlamaEngine({ process: engineProcess, sequences: SEQUENCES });
  await engine.loadModel();
  const [folder = ''] = await readdir(runFolder);
  const socketPath = join(runFolder, folder, 'engine.sock');
  const open = (method: string, path: string): ClientRequest => httpRequest({ socketPath, method, path, agent: false });
  const pid = (): number => {
    assert.ok(engineProcess.pid !== undefined, 'the engine process is not running');
    return engineProcess.pid;
  };
  return {
    engine,
    get pid() {
      return pid();
    },
    runFolder,
    open,
    health: () =>
      new Promise((resolve, reject) => {
        open('GET', '/health')
          .on('response', (response) => {
            readText(response).then((text) => resolve(JSON.parse(text) as SchedulerHealth), reject);
          })
          .on('error', reject)
          .end();
      }),
    kill: () => void process.kill(pid(), 'SIGKILL'),
    async close() {
      await engine.close();
      await rm(runFolder, { recursive: true });
    },
  };
}
