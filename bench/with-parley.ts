import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './child.ts';

/** Runs `work` with a service in its own process and with its own data folder. */
export async function withParley<T>(
  env: Readonly<Record<string, string>>,
  work: (at: { readonly url: string; readonly key: string }) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const serviceEnv = { PARLEY_DATA: folder, PARLEY_PORT: '0', PARLEY_LOG_LEVEL: 'info', ...env };
  const service = await startChild('./peers/parley-server.ts', serviceEnv);
  try {
    return await work(await service.request<{ url: string; key: string }>('address'));
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
