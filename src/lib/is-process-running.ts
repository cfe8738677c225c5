import { getErrorCode } from './error-code.ts';

/** Returns whether a process of this machine has the ID, whoever owns it. */
export function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return getErrorCode(error) !== 'ESRCH';
  }
}
