/**
 * Sends a signal to all processes of a group; signal 0 only tests whether the group exists.
 * @returns false if the group does not exist or may not be signalled.
 */
export function signalProcessGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal);
  } catch {
    return false;
  }
}
