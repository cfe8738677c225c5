import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

/** A name for this process, and no other one at any time. It says to a person where it is. */
export const ownLeaseName = (): string => `${hostname()}:${process.pid}:${randomBytes(6).toString('hex')}`;

const NAME = /^(.*):(\d+):[0-9a-f]{12}$/;

/**
 * Whether the process of that name is gone for certain: it ran on this machine, and its number is nobody's or ours. Where that
 * is not true, because machines share a name, nothing is lost: a process hears that its lease went to another one.
 */
export function isGone(name: string): boolean {
  const [, host, digits] = NAME.exec(name) ?? [];
  if (host !== hostname()) return false;
  const pid = Number(digits);
  return pid === process.pid || !isRunning(pid);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there, and belongs to somebody else.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
