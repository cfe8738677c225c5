import { get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

/** Ours: ms between two questions to a program that is loading: a tenth of the time it has taken so far, within these. */
const ASK_EVERY_MS_MIN = 50;
const ASK_EVERY_MS_MAX = 2_000;

/** Ours: how long one of them may take, in ms. */
const ASK_MS_MAX = 30_000;

/**
 * Whether a program on this machine says that it takes calls. No proxy and no kept connection stands in between, and a
 * redirect is an answer like any other.
 */
export const askHealth = (url: string, apiKey: string, withinMs: number, signal?: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => {
    const sent = get(url, { agent: false, headers: { authorization: `Bearer ${apiKey}` } });
    const timer = setTimeout(() => sent.destroy(), withinMs);
    const onAbort = (): void => void sent.destroy();
    signal?.addEventListener('abort', onAbort, { once: true });
    sent.on('response', (response) => {
      response.on('error', () => undefined).resume();
      resolve(response.statusCode === 200);
    });
    sent.on('error', () => resolve(false));
    sent.on('close', () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      resolve(false);
    });
  });

/**
 * Asks until the program takes calls: while it loads it listens to nobody, or answers 503.
 * @throws the signal's reason.
 */
export async function untilHealthy(url: string, apiKey: string, signal: AbortSignal): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    if (await askHealth(url, apiKey, ASK_MS_MAX, signal)) return;
    signal.throwIfAborted();
    const everyMs = Math.min(ASK_EVERY_MS_MAX, Math.max(ASK_EVERY_MS_MIN, (performance.now() - startedAt) / 10));
    await pause(everyMs, undefined, { signal });
  }
}
