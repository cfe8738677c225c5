import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { isProcessRunning } from '../lib/is-process-running.ts';

/**
 * Creates the name under which a worker of this process holds leases on jobs: host, pid, start time and a random part. It tells
 * people where the worker runs, and other processes whether that process can still be alive.
 */
export const createLeaseOwnerName = (): string =>
  `${hostname()}:${process.pid}:${getProcessStartMs()}:${randomBytes(6).toString('hex')}`;

const LEASE_OWNER_PATTERN = /^(.*):(\d+):(\d+):[0-9a-f]{12}$/;

/**
 * Returns whether the process that created the name has certainly ended: it ran on this host, and its pid is free or now belongs
 * to this process with another start time. A wrong result, possible when two machines share a host name, does no harm: the
 * living worker finds out that it has lost its lease.
 */
export function isLeaseOwnerGone(name: string): boolean {
  const [, host, digits, startMs] = LEASE_OWNER_PATTERN.exec(name) ?? [];
  if (host !== hostname()) return false;
  const pid = Number(digits);
  return pid === process.pid ? startMs !== String(getProcessStartMs()) : !isProcessRunning(pid);
}

/** Returns the start time of this process in UTC ms. */
const getProcessStartMs = (): number => Math.round(performance.timeOrigin);
