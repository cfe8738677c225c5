import { BACKGROUND_WAIT_FACTOR } from '../core/limits.ts';
import type { EngineOwner } from './engine.ts';

/** Whether nobody waits for it. */
export const isBackground = ({ priority }: Pick<EngineOwner, 'priority'>): boolean => priority === 'background';

/**
 * Whether a request gets so many more of what can be worked on at a time. The last place stays free for a live one, unless
 * nothing is taken: what wants all of them would else never run.
 */
export const fitsBeside = (
  owner: Pick<EngineOwner, 'priority'>,
  { wanted, taken, total }: { readonly wanted: number; readonly taken: number; readonly total: number },
): boolean => taken === 0 || taken + wanted <= (isBackground(owner) ? total - 1 : total);

/** @param waitMsMax How long a live request may wait, in ms. */
export const waitMsOf = (owner: Pick<EngineOwner, 'priority'>, waitMsMax: number): number =>
  isBackground(owner) ? waitMsMax * BACKGROUND_WAIT_FACTOR : waitMsMax;
