import { setTimeout as afterMs } from 'node:timers/promises';
import { ServiceError } from '../../core/error.ts';
import { PAGE_HOST_GAP_MS, PAGE_HOST_GAP_MS_MAX, PAGES_PER_HOST_MAX, PAGES_WAITING_PER_HOST_MAX } from './limits.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Clock } from '../../lib/clock.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import type { Semaphore } from '../../lib/semaphore.ts';

/** Limits concurrent page requests per host, and the interval between their starts. Each process has its own. */
export interface HostRateLimiter {
  /**
   * @param gapMs Interval between two starts that the host requests; raised to PAGE_HOST_GAP_MS, at most
   * PAGE_HOST_GAP_MS_MAX.
   * @returns a function that releases the permit.
   * @throws ServiceError `overloaded` if too many requests wait for the host; the signal's reason.
   */
  acquire(host: string, gapMs: number, signal: AbortSignal): Promise<() => void>;
}

export interface HostRateLimiterOptions {
  readonly clock?: Clock;
  /** Waits for `ms` milliseconds; rejects when the signal aborts. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

interface HostState {
  readonly semaphore: Semaphore;
  activeCount: number;
  /** Monotonic time in ms. */
  nextStartAt: number;
}

/** Chosen: number of remembered hosts above which unused ones are removed. */
const HOSTS_MAX = 1_000;

export function createHostRateLimiter({
  clock = systemClock,
  wait = waitForMs,
}: HostRateLimiterOptions = {}): HostRateLimiter {
  const hosts = new Map<string, HostState>();

  const getHost = (name: string): HostState => {
    const existing = hosts.get(name);
    if (existing) return existing;
    if (hosts.size >= HOSTS_MAX) {
      for (const [old, { activeCount, nextStartAt }] of hosts)
        if (activeCount === 0 && nextStartAt <= clock.monotonic()) hosts.delete(old);
    }
    const semaphore = createSemaphore({
      permits: PAGES_PER_HOST_MAX,
      queueLengthMax: PAGES_WAITING_PER_HOST_MAX,
      createQueueFullError,
    });
    const host = { semaphore, activeCount: 0, nextStartAt: 0 };
    hosts.set(name, host);
    return host;
  };

  return {
    async acquire(name, gapMs, signal) {
      signal.throwIfAborted();
      const host = getHost(name);
      host.activeCount++;
      const releaseHost = (): void => void host.activeCount--;
      const releasePermit = await host.semaphore.acquire(signal).catch((thrown: unknown) => {
        releaseHost();
        throw thrown;
      });
      const release = (): void => {
        releasePermit();
        releaseHost();
      };
      const now = clock.monotonic();
      const startAt = Math.max(now, host.nextStartAt);
      host.nextStartAt = startAt + Math.min(PAGE_HOST_GAP_MS_MAX, Math.max(PAGE_HOST_GAP_MS, gapMs));
      try {
        if (startAt > now) await wait(startAt - now, signal);
        signal.throwIfAborted();
        return release;
      } catch (thrown) {
        release();
        throw signal.aborted ? signal.reason : thrown;
      }
    },
  };
}

const waitForMs = (ms: number, signal: AbortSignal): Promise<unknown> => afterMs(ms, undefined, { signal });

const createQueueFullError = (): ServiceError =>
  new ServiceError('overloaded', 'Too many page requests are waiting for this host. Please try again later.');
