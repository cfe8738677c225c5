import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild } from './child.ts';
import { createClient } from './load.ts';
import type { Answer, Client } from './load.ts';
import { freePort, startProgram } from './program.ts';
import type { ProgramOptions } from './program.ts';

/** A gateway in front of the bench's upstream. */
export interface Proxy {
  readonly name: string;
  /** Of the process at the root of its tree. */
  readonly pid: number;
  call(wish: { readonly tokens: number; readonly stream: boolean }): Promise<Answer>;
  stop(): Promise<void>;
}

export interface Place {
  /** Where a proxy may write its configuration and its log. */
  readonly folder: string;
  /** The upstream's address, up to and with `/v1`. */
  readonly upstream: string;
}

const MODEL = 'svc-plus';

/** What is asked of each of them, in the same words. */
export const calls =
  (client: Client): Proxy['call'] =>
  ({ tokens, stream }) =>
    client.call({ model: MODEL, messages: [{ role: 'user', content: 'Hello there' }], max_tokens: tokens, stream });

/** The service as `parley serve` runs it, with a key, its log and its ledger, and the upstream as its default model. */
export async function parley({ folder, upstream }: Place): Promise<Proxy> {
  const config = join(folder, 'parley.json');
  // The file is YAML, of which this is some.
  writeFileSync(config, JSON.stringify({ models: { [MODEL]: { url: upstream } } }));
  const child = await startChild('./peers/parley-server.ts', {
    PARLEY_DATA: join(folder, 'data'),
    PARLEY_CONFIG: config,
    PARLEY_PORT: '0',
    PARLEY_LOG_LEVEL: 'info',
  });
  const { url, key } = await child.ask<{ url: string; key: string }>('address');
  const client = createClient(`${url}/v1/chat/completions`, key);
  return { name: 'Parley', pid: child.pid, call: calls(client), stop: () => child.stop() };
}

export async function bareProxy({ upstream }: Place): Promise<Proxy> {
  const child = await startChild('./peers/bare-proxy.ts', { BENCH_UPSTREAM: upstream });
  const client = createClient(`http://127.0.0.1:${await child.ask<number>('port')}/v1/chat/completions`, 'none');
  return { name: 'bare node:http proxy', pid: child.pid, call: calls(client), stop: () => child.stop() };
}

/** Without keys, database, cache and telemetry: less work than ours. */
export async function litellm({ folder, upstream }: Place, command: string): Promise<Proxy> {
  const port = await freePort();
  const config = join(folder, 'litellm.yaml');
  const model = { model_name: MODEL, litellm_params: { model: 'openai/bench', api_base: upstream, api_key: 'none' } };
  writeFileSync(config, JSON.stringify({ model_list: [model], litellm_settings: { telemetry: false } }));
  return foreign(
    'LiteLLM',
    port,
    {},
    {
      command,
      args: ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'],
      env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_MODE: 'PRODUCTION', LITELLM_LOG: 'ERROR' },
      health: `http://127.0.0.1:${port}/health/liveliness`,
      log: join(folder, 'litellm.log'),
    },
  );
}

/** It is told its upstream with each request. */
export async function portkey({ folder, upstream }: Place, file: string): Promise<Proxy> {
  const port = await freePort();
  return foreign(
    'Portkey',
    port,
    { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': upstream },
    {
      command: process.execPath,
      args: [file, `--port=${port}`, '--headless'],
      health: `http://127.0.0.1:${port}/`,
      log: join(folder, 'portkey.log'),
    },
  );
}

async function foreign(
  name: string,
  port: number,
  headers: Readonly<Record<string, string>>,
  options: ProgramOptions,
): Promise<Proxy> {
  const { pid, stop } = await startProgram(options);
  const client = createClient(`http://127.0.0.1:${port}/v1/chat/completions`, 'none', headers);
  return { name, pid, call: calls(client), stop };
}
