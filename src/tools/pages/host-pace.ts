import { setTimeout as afterMs } from 'node:timers/promises';
import { ServiceError } from '../../core/error.ts';
import {
  PAGE_HOST_GAP_MS,
  PAGE_HOST_GAP_MS_MAX,
  PAGES_PER_HOST_MAX,
  PAGES_WAITING_PER_HOST_MAX,
} from '../../core/limits.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Clock } from '../../lib/clock.ts';
import { createTurns } from '../../lib/turns.ts';
import type { Turns } from '../../lib/turns.ts';

/** Few pages of one host at a time, and not one straight after another. Each process has its own. */
export interface HostPace {
  /**
   * @param gapMs What the host wishes between two beginnings; ours is the least, and counts up to a limit.
   * @returns what gives the place back.
   * @throws ServiceError `overloaded` where too many wait for that host; the signal's reason.
   */
  enter(host: string, gapMs: number, signal: AbortSignal): Promise<() => void>;
}

export interface HostPaceOptions {
  readonly clock?: Clock;
  /** Waits so many ms; rejects when the signal aborts. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

interface Host {
  readonly turns: Turns;
  users: number;
  /** By the monotonic clock, in ms. */
  nextAt: number;
}

/** Ours: hosts whose last moment is remembered before those that are long past are forgotten. */
const HOSTS_MAX = 1_000;

export function createHostPace({ clock = systemClock, wait = waitMs }: HostPaceOptions = {}): HostPace {
  const hosts = new Map<string, Host>();

  const hostOf = (name: string): Host => {
    const known = hosts.get(name);
    if (known) return known;
    if (hosts.size >= HOSTS_MAX) {
      for (const [old, { users, nextAt }] of hosts) if (users === 0 && nextAt <= clock.monotonic()) hosts.delete(old);
    }
    const turns = createTurns({ atOnce: PAGES_PER_HOST_MAX, waitingMax: PAGES_WAITING_PER_HOST_MAX, refuse: tooMany });
    const host = { turns, users: 0, nextAt: 0 };
    hosts.set(name, host);
    return host;
  };

  return {
    async enter(name, gapMs, signal) {
      signal.throwIfAborted();
      const host = hostOf(name);
      host.users++;
      const leaveHost = (): void => void host.users--;
      const leaveTurn = await host.turns.enter(signal).catch((thrown: unknown) => {
        leaveHost();
        throw thrown;
      });
      const leave = (): void => {
        leaveTurn();
        leaveHost();
      };
      const now = clock.monotonic();
      const at = Math.max(now, host.nextAt);
      host.nextAt = at + Math.min(PAGE_HOST_GAP_MS_MAX, Math.max(PAGE_HOST_GAP_MS, gapMs));
      try {
        if (at > now) await wait(at - now, signal);
        signal.throwIfAborted();
        return leave;
      } catch (thrown) {
        leave();
        throw signal.aborted ? signal.reason : thrown;
      }
    },
  };
}

const waitMs = (ms: number, signal: AbortSignal): Promise<unknown> => afterMs(ms, undefined, { signal });

const tooMany = (): ServiceError =>
  new ServiceError('overloaded', 'Too many pages of that host wait to be read. Please try again later.');
