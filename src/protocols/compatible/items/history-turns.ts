import { isSystemItem } from './decode-items.ts';
import type { WireItem } from './item-schema.ts';

/** A history from which the oldest turns can be dropped. */
export interface ConversationHistory {
  /** Number of turns that may be dropped. */
  readonly count: number;
  /** Returns the items that remain without the given number of oldest turns. */
  withoutOldest(dropped: number): readonly WireItem[];
}

/**
 * Groups a history into turns. A turn starts with a user message that follows anything else; calls and their results
 * stay together. System and developer messages belong to no turn and are never dropped, nor is a turn with a call that
 * the new input answers.
 *
 * @param input The new input.
 */
export function groupHistoryTurns(history: readonly WireItem[], input: readonly WireItem[]): ConversationHistory {
  const answeredCallIds = new Set(
    input.flatMap((item) => (item.type === 'function_call_output' ? [item.call_id] : [])),
  );
  /** Turn number of each item. */
  const turnOfItem: number[] = [];
  let turn = 0;
  let hasStarted = false;
  let wasUser = false;
  let firstRequiredTurn = Infinity;
  for (const item of history) {
    const isUser = item.type === 'message' && item.role === 'user';
    if (isUser && !wasUser && hasStarted) turn++;
    if (!isSystemItem(item)) {
      hasStarted = true;
      wasUser = isUser;
    }
    turnOfItem.push(turn);
    if (item.type === 'function_call' && answeredCallIds.has(item.call_id))
      firstRequiredTurn = Math.min(firstRequiredTurn, turn);
  }
  return {
    count: Math.min(firstRequiredTurn, hasStarted ? turn + 1 : 0),
    withoutOldest: (dropped) =>
      history.filter((item, index) => isSystemItem(item) || (turnOfItem[index] ?? 0) >= dropped),
  };
}
