import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startParleyService } from './bench-service.ts';
import { startChild } from './child.ts';
import { createBenchClient, createChatClient } from './load.ts';
import type { BenchResponse, BenchClient } from './load.ts';
import { findFreePort, startProgram } from './program.ts';
import type { ProgramOptions } from './program.ts';

/** A gateway in front of the benchmark's upstream. */
export interface Proxy {
  readonly name: string;
  /** Process id of the root of the proxy's process tree. */
  readonly pid: number;
  call(request: { readonly tokens: number; readonly stream: boolean }): Promise<BenchResponse>;
  stop(): Promise<void>;
}

export interface ProxySetup {
  /** Folder for the proxy's configuration and log. */
  readonly folder: string;
  /** The upstream's base URL, including `/v1`. */
  readonly upstream: string;
}

const MODEL = 'svc-plus';

/** Creates the same request for every proxy. */
export const createCall =
  (client: BenchClient): Proxy['call'] =>
  ({ tokens, stream }) =>
    client.call({ model: MODEL, messages: [{ role: 'user', content: 'Hello there' }], max_tokens: tokens, stream });

/** Starts the service as `parley serve` does, with a key, its log and its ledger. The upstream is its default model. */
export async function startParley({ folder, upstream }: ProxySetup): Promise<Proxy> {
  const config = join(folder, 'parley.json');
  // The file is YAML, and JSON is valid YAML.
  writeFileSync(config, JSON.stringify({ models: { [MODEL]: { url: upstream } } }));
  const service = await startParleyService({ PARLEY_DATA: join(folder, 'data'), PARLEY_CONFIG: config });
  const { pid, stop } = service.child;
  return { name: 'Parley', pid, call: createCall(createChatClient(service)), stop };
}

export async function startBareProxy({ upstream }: ProxySetup): Promise<Proxy> {
  const child = await startChild('./peers/bare-proxy.ts', { BENCH_UPSTREAM: upstream });
  const client = createBenchClient(
    `http://127.0.0.1:${await child.request<number>('port')}/v1/chat/completions`,
    'none',
  );
  return { name: 'bare node:http proxy', pid: child.pid, call: createCall(client), stop: () => child.stop() };
}

/** Starts LiteLLM without keys, database, cache and telemetry: less work than Parley does. */
export async function startLitellm({ folder, upstream }: ProxySetup, command: string): Promise<Proxy> {
  const port = await findFreePort();
  const config = join(folder, 'litellm.yaml');
  const model = { model_name: MODEL, litellm_params: { model: 'openai/bench', api_base: upstream, api_key: 'none' } };
  writeFileSync(config, JSON.stringify({ model_list: [model], litellm_settings: { telemetry: false } }));
  return startPeerProxy(
    'LiteLLM',
    port,
    {},
    {
      command,
      args: ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'],
      env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_MODE: 'PRODUCTION', LITELLM_LOG: 'ERROR' },
      healthUrl: `http://127.0.0.1:${port}/health/liveliness`,
      logFile: join(folder, 'litellm.log'),
    },
  );
}

/** Starts Portkey. Each request names the upstream in a header. */
export async function startPortkey({ folder, upstream }: ProxySetup, file: string): Promise<Proxy> {
  const port = await findFreePort();
  return startPeerProxy(
    'Portkey',
    port,
    { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': upstream },
    {
      command: process.execPath,
      args: [file, `--port=${port}`, '--headless'],
      healthUrl: `http://127.0.0.1:${port}/`,
      logFile: join(folder, 'portkey.log'),
    },
  );
}

async function startPeerProxy(
  name: string,
  port: number,
  headers: Readonly<Record<string, string>>,
  options: ProgramOptions,
): Promise<Proxy> {
  const { pid, stop } = await startProgram(options);
  const client = createBenchClient(`http://127.0.0.1:${port}/v1/chat/completions`, 'none', headers);
  return { name, pid, call: createCall(client), stop };
}
