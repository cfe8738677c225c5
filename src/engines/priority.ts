import { PRIORITIES } from '../core/context.ts';
import { BACKGROUND_WAIT_FACTOR, RESERVED_WAIT_FACTOR } from '../core/limits.ts';
import type { EngineOwner } from './engine.ts';

type Prioritised = Pick<EngineOwner, 'priority'>;

/** Whether nobody waits for it. */
export const isBackground = ({ priority }: Prioritised): boolean => priority === 'background';

/** Whether its place was kept for it. */
export const isReserved = ({ priority }: Prioritised): boolean => priority === 'reserved';

/** The lower ones first. */
export const rankOf = ({ priority = 'live' }: Prioritised): number => PRIORITIES.indexOf(priority);

/**
 * Whether a request gets so many more of what can be worked on at a time. The last place stays free for one that somebody
 * waits for, unless nothing is taken: what wants all of them would else never run.
 */
export const fitsBeside = (
  owner: Prioritised,
  { wanted, taken, total }: { readonly wanted: number; readonly taken: number; readonly total: number },
): boolean => taken === 0 || taken + wanted <= (isBackground(owner) ? total - 1 : total);

/** @param waitMsMax How long a live request may wait, in ms. */
export function waitMsOf({ priority = 'live' }: Prioritised, waitMsMax: number): number {
  switch (priority) {
    case 'reserved':
      return waitMsMax * RESERVED_WAIT_FACTOR;
    case 'live':
      return waitMsMax;
    case 'background':
      return waitMsMax * BACKGROUND_WAIT_FACTOR;
  }
}
