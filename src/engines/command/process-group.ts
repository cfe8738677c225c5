/**
 * Sends a signal to all processes of a group; 0 only asks whether there is any.
 * @returns false where there is no such group, or none of it may be signalled.
 */
export function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal);
  } catch {
    return false;
  }
}
