import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
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
    return (await requestStatus(new URL('/health', registration.url))) === 200;
  } catch {
    return false; // a killed server leaves its registration behind
  }
}

/** Sends a GET request and returns the status. The certificate of HTTPS is for other names than this local address. */
function requestStatus(url: URL): Promise<number | undefined> {
  const options = { signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS), agent: false };
  return new Promise((resolve, reject) => {
    const request =
      url.protocol === 'https:'
        ? requestHttps(url, { ...options, rejectUnauthorized: false })
        : requestHttp(url, options);
    request
      .on('response', (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
}

function readRegistration(dataFolder: string): { pid: number; url: string } | undefined {
  try {
    return JSON.parse(readFileSync(getRegistrationPath(dataFolder), 'utf8')) as { pid: number; url: string };
  } catch {
    return undefined;
  }
}
