import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rankingModel } from '../model/__fixtures__/ranking-model.ts';
import { enginesFolder, modelsFolder } from '../models-folder.ts';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

/** From start to a served request, in ms: weights are on disk, but the machine may be busy. */
const READY_MS_MAX = 150_000;

/** Until a line is printed, in ms: what takes its time, as the trial of the sandbox, is told when it is over. */
const OUTPUT_MS_MAX = 60_000;

/** From SIGTERM to the end of the process, in ms: longer than it gives its answers to end. */
const STOP_MS_MAX = 60_000;

/**
 * Of one request, in ms, where a test is about something else: tokens and programs of a busy machine take ten times as long as
 * of one at rest. A little less than a test may take, so that what hangs is told as what it is.
 */
export const REQUEST_MS_MAX = 170_000;

export interface ParleyOptions {
  /** `scripted` needs no weights. Default: llama. */
  readonly engine?: 'llama' | 'scripted';
  /** Answers that run side by side. Default: 2. */
  readonly sequences?: number;
  /** Text of `parley.yaml` in the data folder. */
  readonly config?: string;
  /** Whether `svc-rerank` runs a model, written for this into the data folder; `config` is not read then. Default: false. */
  readonly ranks?: boolean;
  /** More settings, as environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Parley {
  /** Without a path, e.g. `http://127.0.0.1:43210`. */
  readonly address: string;
  /** Of the compatible interface, as clients take it. */
  readonly baseUrl: string;
  readonly key: string;
  /** The data folder; gone after `stop`. */
  readonly data: string;
  readonly pid: number;
  /** Ends it by SIGTERM, and asserts that it ended by itself and cleanly. */
  stop(): Promise<void>;
}

/** One with streams of its own. */
export interface ParleyProcess extends Parley {
  /** What it printed so far, both streams. */
  output(): string;
  /** What it printed, once that has this in it: it is ready before it has told all of its start. */
  outputWith(sought: RegExp): Promise<string>;
}

/** A Parley in a process of its own, as an operator starts it, on a free port and with an empty data folder. */
export async function startParley({
  engine = 'llama',
  sequences = 2,
  config,
  ranks = false,
  env = {},
}: ParleyOptions = {}): Promise<ParleyProcess> {
  const data = await mkdtemp(join(tmpdir(), 'parley-clients-'));
  const settings = ranks ? await rankingConfig(data) : config;
  if (settings !== undefined) await writeFile(join(data, 'parley.yaml'), settings);
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', CLI, 'serve', '--port', '0', '--data', data],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        PARLEY_ENGINE_KIND: engine,
        PARLEY_ENGINE_SEQUENCES: String(sequences),
        PARLEY_ENGINE_THREADS: '1',
        PARLEY_ENGINE_CONTEXT_TOKENS: '2048',
        PARLEY_MODELS_FOLDER: modelsFolder(),
        PARLEY_ENGINES_FOLDER: enginesFolder(),
        PARLEY_HUB_URL: 'off',
        ...env,
      },
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exit = once(child, 'exit');

  try {
    const address = await until(`Parley is ready\n${output}`, { withinMs: READY_MS_MAX }, async () => {
      assert.equal(child.exitCode ?? child.signalCode, null, `Parley ended at its start:\n${output}`);
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
      return found !== undefined && (await isReady(found)) ? found : undefined;
    });
    const key = (await readFile(join(data, 'key'), 'utf8')).trim();
    return {
      address,
      baseUrl: `${address}/compatible-mode/v1`,
      key,
      data,
      pid: child.pid ?? 0,
      output: () => output,
      outputWith: (sought) =>
        until(`${String(sought)} is printed`, { withinMs: OUTPUT_MS_MAX }, async () =>
          sought.test(output) ? output : undefined,
        ),
      async stop() {
        child.kill('SIGTERM');
        const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
        const [code, signal] = await exit;
        clearTimeout(timer);
        await rm(data, { recursive: true });
        assert.equal(signal ?? code, 0, `Parley did not end cleanly:\n${output}`);
      },
    };
  } catch (error) {
    child.kill('SIGKILL');
    await exit;
    // What it had started may still write its last file there.
    await rm(data, { recursive: true, maxRetries: 10 });
    throw error;
  }
}

async function rankingConfig(data: string): Promise<string> {
  const path = join(data, 'ranking.gguf');
  await writeFile(path, rankingModel());
  return `models:\n  svc-rerank: { path: '${path}' }\n`;
}

async function isReady(address: string): Promise<boolean> {
  try {
    const response = await fetch(`${address}/ready`);
    await response.body?.cancel();
    return response.status === 200;
  } catch (error) {
    // It says where it will listen before it does.
    if (error instanceof TypeError) return false;
    throw error;
  }
}
