import { get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/** Milliseconds between two checks of a loading program: a tenth of the elapsed time, within these limits. */
const POLL_INTERVAL_MS_MIN = 50;
const POLL_INTERVAL_MS_MAX = 2_000;

/** Parley's choice: limit of one check, in milliseconds. */
const POLL_MS_MAX = 30_000;

/**
 * Returns true if a program on this machine responds with 200. Uses no proxy and no keep-alive connection, and follows no
 * redirect.
 */
export const checkHealth = (url: string, apiKey: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => {
    const request = get(url, { agent: false, headers: { authorization: `Bearer ${apiKey}` } });
    const timer = setTimeout(() => request.destroy(), timeoutMs);
    const onAbort = (): void => void request.destroy();
    signal?.addEventListener('abort', onAbort, { once: true });
    request.on('response', (response) => {
      response.on('error', () => undefined).resume();
      resolve(response.statusCode === 200);
    });
    request.on('error', () => resolve(false));
    request.on('close', () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      resolve(false);
    });
  });

/**
 * Polls until the program accepts calls: while it loads, it does not listen, or responds with 503.
 * @throws the signal's reason.
 */
export async function waitUntilHealthy(url: string, apiKey: string, signal: AbortSignal): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    if (await checkHealth(url, apiKey, POLL_MS_MAX, signal)) return;
    signal.throwIfAborted();
    const intervalMs = Math.min(
      POLL_INTERVAL_MS_MAX,
      Math.max(POLL_INTERVAL_MS_MIN, (performance.now() - startedAt) / 10),
    );
    await pause(intervalMs, undefined, { signal });
  }
}
