import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './child.ts';

/** A service in a process of its own, with data of its own, for as long as the work takes. */
export async function withParley<T>(
  env: Readonly<Record<string, string>>,
  work: (at: { readonly url: string; readonly key: string }) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const own = { PARLEY_DATA: folder, PARLEY_PORT: '0', PARLEY_LOG_LEVEL: 'info', ...env };
  const service = await startChild('./peers/parley-server.ts', own);
  try {
    return await work(await service.ask<{ url: string; key: string }>('address'));
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
