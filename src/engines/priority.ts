import { PRIORITIES } from '../core/context.ts';
import { BACKGROUND_WAIT_FACTOR, RESERVED_WAIT_FACTOR } from './limits.ts';
import type { EngineOwner } from './engine.ts';

type WithPriority = Pick<EngineOwner, 'priority'>;

/** Whether the request runs only with spare capacity: no caller waits for its response. */
export const isBackground = ({ priority }: WithPriority): boolean => priority === 'background';

/** Whether the request runs on capacity that is reserved for its owner. */
export const isReserved = ({ priority }: WithPriority): boolean => priority === 'reserved';

/** Whether a caller waits for the response, and has no reserved capacity. */
export const isLive = ({ priority = 'live' }: WithPriority): boolean => priority === 'live';

/** Returns the rank of a priority; a lower rank is served first. */
export const getPriorityRank = ({ priority = 'live' }: WithPriority): number => PRIORITIES.indexOf(priority);

/**
 * Returns the longest time that a request may wait, in ms.
 * @param waitMsMax The limit for live requests, in ms.
 */
export function getWaitMsMax({ priority = 'live' }: WithPriority, waitMsMax: number): number {
  switch (priority) {
    case 'reserved':
      return waitMsMax * RESERVED_WAIT_FACTOR;
    case 'live':
      return waitMsMax;
    case 'background':
      return waitMsMax * BACKGROUND_WAIT_FACTOR;
  }
}
