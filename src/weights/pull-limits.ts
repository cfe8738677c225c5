import { DISK_RESERVE_BYTES } from '../core/limits.ts';
import { HUB_CONNECT_MS, HUB_RETRY_MS, HUB_STALL_MS, HUB_UNSTATED_BYTES_MAX, PULL_LOCK_POLL_MS } from './limits.ts';

/** Times and sizes that bound a download; core/limits.ts describes each. Tests shorten them. */
export interface PullLimits {
  readonly connectMs: number;
  readonly stallMs: number;
  readonly retryMs: number;
  readonly unstatedBytesMax: number;
  readonly diskReserveBytes: number;
  readonly lockPollMs: number;
}

export const PULL_LIMITS: PullLimits = {
  connectMs: HUB_CONNECT_MS,
  stallMs: HUB_STALL_MS,
  retryMs: HUB_RETRY_MS,
  unstatedBytesMax: HUB_UNSTATED_BYTES_MAX,
  diskReserveBytes: DISK_RESERVE_BYTES,
  lockPollMs: PULL_LOCK_POLL_MS,
};

/** The form of the standard `fetch` that downloads use. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
