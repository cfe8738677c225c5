import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const getRegistrationPath = (dataFolder: string): string => join(dataFolder, 'server.json');

/** Longest wait for the health check of a registered server, in ms. */
const HEALTH_TIMEOUT_MS = 1_000;

/** Stores the URL of the running server in the data folder, unless another running server is registered. */
export async function registerServer(dataFolder: string, url: string): Promise<{ remove(): void }> {
  const file = getRegistrationPath(dataFolder);
  // A registration with the same URL is stale: this process listens there and would answer the health check itself.
  const isSameAddress = readRegistration(dataFolder)?.url === url;
  if (isSameAddress || !(await isServerRunning(dataFolder)))
    writeFileSync(file, JSON.stringify({ pid: process.pid, url }), { mode: 0o600 });
  return {
    remove() {
      if (readRegistration(dataFolder)?.pid === process.pid) rmSync(file, { force: true });
    },
  };
}

/** Tells whether a server is running with this data folder. */
export async function isServerRunning(dataFolder: string): Promise<boolean> {
  const registration = readRegistration(dataFolder);
  if (!registration) return false;
  try {
    const response = await fetch(new URL('/health', registration.url), {
      signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS),
    });
    return response.ok;
  } catch {
    return false; // a killed server leaves its registration behind
  }
}

function readRegistration(dataFolder: string): { pid: number; url: string } | undefined {
  try {
    return JSON.parse(readFileSync(getRegistrationPath(dataFolder), 'utf8')) as { pid: number; url: string };
  } catch {
    return undefined;
  }
}
