import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

/** A name for one worker of this process. It says to a person where it is, and to others whether its process can be alive. */
export const newLeaseName = (): string =>
  `${hostname()}:${process.pid}:${startedAt()}:${randomBytes(6).toString('hex')}`;

const NAME = /^(.*):(\d+):(\d+):[0-9a-f]{12}$/;

/**
 * Whether the process of that name is gone for certain: it ran on this machine, and its number is nobody's, or ours that began
 * at another time. Where that is wrong, because machines share a name, nothing is lost: whoever is alive hears that its lease
 * went to another one.
 */
export function isGone(name: string): boolean {
  const [, host, digits, since] = NAME.exec(name) ?? [];
  if (host !== hostname()) return false;
  const pid = Number(digits);
  return pid === process.pid ? since !== String(startedAt()) : !isRunning(pid);
}

/** Of this process, in UTC ms. */
const startedAt = (): number => Math.round(performance.timeOrigin);

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there, and belongs to somebody else.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
