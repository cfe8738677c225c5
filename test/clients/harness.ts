import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRankingModel } from '../../src/weights/__fixtures__/ranking-model.ts';
import { getEnginesFolder, getModelsFolder, getWeightsName } from '../models-folder.ts';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

/** Longest time from start to readiness, in ms. The weights are on disk, but the machine may be busy. */
const READY_MS_MAX = 150_000;

/**
 * Longest wait for a line of output, in ms. Slow checks, such as the sandbox verification, print their line when they
 * finish.
 */
const OUTPUT_MS_MAX = 60_000;

/**
 * Longest time from SIGTERM to the exit of the process, in ms. Longer than the service lets running requests finish.
 */
const STOP_MS_MAX = 60_000;

/**
 * Timeout of a request in tests that do not measure time, in ms. A busy machine generates tokens and runs programs ten
 * times slower than an idle one. Slightly below the timeout of a test, so that a hanging request is reported as such.
 */
export const REQUEST_MS_MAX = 170_000;

export interface ParleyOptions {
  /** The engine; `scripted` needs no weights. Default: llama. */
  readonly engine?: 'llama' | 'scripted';
  /** Number of concurrent generations. Default: 2. */
  readonly sequences?: number;
  /** Content of `parley.yaml` in the data folder. */
  readonly config?: string;
  /** Writes a ranking model into the data folder and runs it as `svc-rerank`; ignores `config`. Default: false. */
  readonly withRankingModel?: boolean;
  /**
   * Whether `svc-plus` runs the weights of `svc-tiny`, which answers four times as fast, for tests in which neither the
   * content nor the length of an answer matters; ignores `config`. Default: false.
   */
  readonly withTinyModel?: boolean;
  /** Whether the service sends a first question to its model, as it does for an operator. Default: false. */
  readonly asksFirstQuestion?: boolean;
  /** Whether the code interpreter is on, and so verifies its sandbox at the start. Default: false. */
  readonly withCodeInterpreter?: boolean;
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Parley {
  /** Base URL without a path, e.g. `http://127.0.0.1:43210`. */
  readonly address: string;
  /** Base URL of the compatible interface for client libraries. */
  readonly baseUrl: string;
  readonly key: string;
  /** The data folder; `stop` deletes it. */
  readonly data: string;
  readonly pid: number;
  /** Sends SIGTERM and asserts that the process exits with code 0. */
  stop(): Promise<void>;
}

/** A Parley in a separate process, whose output can be read. */
export interface ParleyProcess extends Parley {
  /** Output so far, standard output and standard error together. */
  output(): string;
  /**
   * Waits until the output matches, and returns all of it. The service is ready before it has printed its whole start
   * report.
   */
  waitForOutput(pattern: RegExp): Promise<string>;
}

/** Starts a Parley as a separate process, like an operator does, on a free port and with an empty data folder. */
export async function startParley({
  engine = 'llama',
  sequences = 2,
  config,
  withRankingModel = false,
  withTinyModel = false,
  asksFirstQuestion = false,
  withCodeInterpreter = false,
  env = {},
}: ParleyOptions = {}): Promise<ParleyProcess> {
  const data = await mkdtemp(join(tmpdir(), 'parley-clients-'));
  const settings =
    withRankingModel || withTinyModel ? await writeModels(data, { withRankingModel, withTinyModel }) : config;
  if (settings !== undefined) await writeFile(join(data, 'parley.yaml'), settings);
  const nodeArgs = ['--disable-warning=ExperimentalWarning', CLI, 'serve', '--port', '0', '--data', data];
  const child = spawn(process.execPath, [...nodeArgs, ...(asksFirstQuestion ? [] : ['--no-first-answer'])], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PARLEY_ENGINE_KIND: engine,
      PARLEY_ENGINE_SEQUENCES: String(sequences),
      PARLEY_ENGINE_THREADS: '1',
      PARLEY_ENGINE_CONTEXT_TOKENS: '2048',
      PARLEY_MODELS_FOLDER: getModelsFolder(),
      PARLEY_ENGINES_FOLDER: getEnginesFolder(),
      PARLEY_HUB_URL: 'off',
      ...(!withCodeInterpreter && { PARLEY_CODE_INTERPRETER_LEVEL: 'off' }),
      ...env,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exit = once(child, 'exit');

  try {
    const address = await until(`Parley is ready\n${output}`, { timeoutMs: READY_MS_MAX }, async () => {
      assert.equal(child.exitCode ?? child.signalCode, null, `Parley ended at its start:\n${output}`);
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
      return url !== undefined && (await isReady(url)) ? url : undefined;
    });
    const key = (await readFile(join(data, 'key'), 'utf8')).trim();
    return {
      address,
      baseUrl: `${address}/compatible-mode/v1`,
      key,
      data,
      pid: child.pid ?? 0,
      output: () => output,
      waitForOutput: (pattern) =>
        until(`${String(pattern)} is printed`, { timeoutMs: OUTPUT_MS_MAX }, async () =>
          pattern.test(output) ? output : undefined,
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
    // A process that it started may still write its last file there.
    await rm(data, { recursive: true, maxRetries: 10 });
    throw error;
  }
}

/** Writes the weights of a ranking model, if wanted, and returns a configuration of the models. */
async function writeModels(
  data: string,
  { withRankingModel, withTinyModel }: { readonly withRankingModel: boolean; readonly withTinyModel: boolean },
): Promise<string> {
  const models: string[] = [];
  if (withRankingModel) {
    const path = join(data, 'ranking.gguf');
    await writeFile(path, createRankingModel());
    models.push(`  svc-rerank: { path: '${path}' }\n`);
  }
  if (withTinyModel) models.push(`  svc-plus: { weights: ${getWeightsName('svc-tiny')} }\n`);
  return `models:\n${models.join('')}`;
}

async function isReady(address: string): Promise<boolean> {
  try {
    const response = await fetch(`${address}/ready`);
    await response.body?.cancel();
    return response.status === 200;
  } catch (error) {
    // The service prints its address before it listens.
    if (error instanceof TypeError) return false;
    throw error;
  }
}
