import {
  DISK_RESERVE_BYTES,
  HUB_CONNECT_MS,
  HUB_RETRY_MS,
  HUB_SILENCE_MS,
  PULL_LOCK_POLL_MS,
  PULL_LOCK_STALE_MS,
} from '../core/limits.ts';

/** The times and sizes of a download; core/limits.ts says what each is. Tests shorten them. */
export interface PullLimits {
  readonly connectMs: number;
  readonly silenceMs: number;
  readonly retryMs: number;
  readonly diskReserveBytes: number;
  readonly lockPollMs: number;
  readonly lockStaleMs: number;
}

export const PULL_LIMITS: PullLimits = {
  connectMs: HUB_CONNECT_MS,
  silenceMs: HUB_SILENCE_MS,
  retryMs: HUB_RETRY_MS,
  diskReserveBytes: DISK_RESERVE_BYTES,
  lockPollMs: PULL_LOCK_POLL_MS,
  lockStaleMs: PULL_LOCK_STALE_MS,
};

/** The part of the standard `fetch` that downloads use. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
