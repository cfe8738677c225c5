import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './child.ts';
import type { BenchChild } from './child.ts';

/** A service in its own process. */
export interface BenchService {
  readonly url: string;
  readonly key: string;
  readonly child: BenchChild;
}

/** Runs `work` with a temporary folder. */
export async function withTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs `work` with a service in its own process and with its own data folder. */
export const withParley = <T>(
  env: Readonly<Record<string, string>>,
  work: (service: BenchService) => Promise<T>,
): Promise<T> =>
  withTemporaryFolder(async (folder) => {
    const service = await startParleyService({ PARLEY_DATA: folder, ...env });
    try {
      return await work(service);
    } finally {
      await service.child.stop();
    }
  });

/** Starts a service on a free port. */
export async function startParleyService(env: Readonly<Record<string, string>>): Promise<BenchService> {
  const child = await startChild('./peers/parley-server.ts', { PARLEY_PORT: '0', PARLEY_LOG_LEVEL: 'info', ...env });
  return { ...(await child.request<{ url: string; key: string }>('address')), child };
}

/** Returns the variables of a service with the embedded engine on one thread. */
export const createEngineEnv = (modelsFolder: string, { sequences, contextTokens }: EngineSizes) => ({
  PARLEY_MODELS: modelsFolder,
  PARLEY_ENGINE_SEQUENCES: String(sequences),
  PARLEY_ENGINE_CONTEXT_TOKENS: String(contextTokens),
  PARLEY_ENGINE_THREADS: '1',
  PARLEY_LOG_LEVEL: 'warn',
});

interface EngineSizes {
  readonly sequences: number;
  readonly contextTokens: number;
}

/** Sends a request to a path of the service, with `json` as the body of a POST. @throws Error for an error response. */
export async function requestService(
  { url, key }: Pick<BenchService, 'url' | 'key'>,
  path: string,
  {
    json,
    headers,
    ...init
  }: Omit<RequestInit, 'headers'> & {
    readonly json?: object;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<Response> {
  const response = await fetch(`${url}${path}`, {
    ...init,
    ...(json && { method: 'POST', body: JSON.stringify(json) }),
    headers: { authorization: `Bearer ${key}`, ...(json && { 'content-type': 'application/json' }), ...headers },
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response;
}
