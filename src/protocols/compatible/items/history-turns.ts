import { isSystemItem } from './decode-items.ts';
import type { WireItem } from './item-schema.ts';

/** A history that can be shortened at its beginning, by whole turns. */
export interface HistoryTurns {
  /** How many may be left out. */
  readonly count: number;
  /** What stays without so many of the oldest. */
  without(dropped: number): readonly WireItem[];
}

/**
 * A turn begins with what the user says after anything else, and its calls and their results stay with it. What system and
 * developer say is of no turn, and stays; so do turns with a call that is answered only now.
 *
 * @param input What is said now.
 */
export function historyTurns(history: readonly WireItem[], input: readonly WireItem[]): HistoryTurns {
  const answered = new Set(input.flatMap((item) => (item.type === 'function_call_output' ? [item.call_id] : [])));
  /** Of each item, the position of its turn. */
  const turns: number[] = [];
  let turn = 0;
  let hasBegun = false;
  let wasUser = false;
  let needed = Infinity;
  for (const item of history) {
    const isUser = item.type === 'message' && item.role === 'user';
    if (isUser && !wasUser && hasBegun) turn++;
    if (!isSystemItem(item)) {
      hasBegun = true;
      wasUser = isUser;
    }
    turns.push(turn);
    if (item.type === 'function_call' && answered.has(item.call_id)) needed = Math.min(needed, turn);
  }
  return {
    count: Math.min(needed, hasBegun ? turn + 1 : 0),
    without: (dropped) => history.filter((item, index) => isSystemItem(item) || (turns[index] ?? 0) >= dropped),
  };
}
