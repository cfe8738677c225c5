import { ServiceError } from '../../../core/error.ts';
import { RECOGNITION_OTHER_WORKSPACES_SHARE } from './limits.ts';

/**
 * Limits how many recognitions run at a time, without a queue. Some of several slots are left to other workspaces, if there
 * are any.
 */
export interface RecognitionLimit {
  /**
   * @returns A function that releases the slot.
   * @throws ServiceError `overloaded` if no slot is free, or none for the workspace.
   */
  acquire(workspace: string): Promise<() => void>;
}

/** @param hasOtherWorkspace Whether another workspace may want a slot too. */
export function createRecognitionLimit(
  max: number,
  hasOtherWorkspace: (workspace: string) => Promise<boolean>,
): RecognitionLimit {
  const workspaceMax = max === 1 ? 1 : max - Math.max(1, Math.floor(max * RECOGNITION_OTHER_WORKSPACES_SHARE));
  const runningByWorkspace = new Map<string, number>();
  let running = 0;

  const change = (workspace: string, by: 1 | -1): void => {
    running += by;
    const own = (runningByWorkspace.get(workspace) ?? 0) + by;
    if (own === 0) runningByWorkspace.delete(workspace);
    else runningByWorkspace.set(workspace, own);
  };

  return {
    async acquire(workspace) {
      const ownMax = (await hasOtherWorkspace(workspace)) ? workspaceMax : max;
      if (running >= max) throw createLimitError(max);
      if ((runningByWorkspace.get(workspace) ?? 0) >= ownMax) throw createLimitError(ownMax, ' of the workspace');
      change(workspace, 1);
      let isHeld = true;
      return () => {
        if (isHeld) change(workspace, -1);
        isHeld = false;
      };
    },
  };
}

function createLimitError(max: number, owner = ''): ServiceError {
  const subject = max === 1 ? `Another recognition${owner} is` : `${max} recognitions${owner} are`;
  return new ServiceError('overloaded', `${subject} running, which is the limit. Try again later.`);
}
