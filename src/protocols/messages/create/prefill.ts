import type { MessagesTurnWire } from './schema.ts';

/** Whether a turn is an empty system message, with which some clients end; it is ignored. */
export const isEmptySystemTurn = ({ role, content }: MessagesTurnWire): boolean =>
  role === 'system' &&
  (typeof content === 'string' ? content === '' : content.every((block) => block.type === 'text' && block.text === ''));

/**
 * Finds the assistant turns at the end, whose text starts the answer, by their indexes; empty if another role is last.
 */
export function findPrefillTurns(turns: readonly MessagesTurnWire[]): readonly number[] {
  const positions: number[] = [];
  for (const [index, turn] of [...turns.entries()].reverse()) {
    if (isEmptySystemTurn(turn)) continue;
    if (turn.role !== 'assistant') break;
    positions.unshift(index);
  }
  return positions;
}
