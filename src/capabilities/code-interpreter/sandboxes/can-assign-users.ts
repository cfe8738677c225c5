import { readFileSync } from 'node:fs';

/** User ids that no system assigns: a process with such an id shares it with no other process. */
export const UID_MIN = 1_000_000_000;
export const UID_MAX = 2_000_000_000;

/** Bits of the capabilities CAP_SETGID, CAP_SETUID, CAP_SETPCAP, CAP_SYS_CHROOT and CAP_SYS_ADMIN. */
const REQUIRED_CAPABILITIES = [6n, 7n, 8n, 18n, 21n].reduce((bits, bit) => bits | (1n << bit), 0n);

/**
 * Whether this process may create namespaces without a user namespace, and give each process a user id of its own. Root
 * in a container usually may not.
 */
export function canAssignUsers(readFile = (path: string): string => readFileSync(path, 'utf8')): boolean {
  try {
    const capabilities = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFile('/proc/self/status'))?.[1];
    if (capabilities === undefined) return false;
    if ((BigInt(`0x${capabilities}`) & REQUIRED_CAPABILITIES) !== REQUIRED_CAPABILITIES) return false;
    // Lines of: first id inside, first id outside, count.
    return readFile('/proc/self/uid_map')
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number))
      .some(([inside = Infinity, , count = 0]) => inside <= UID_MIN && inside + count > UID_MAX);
  } catch {
    return false;
  }
}
