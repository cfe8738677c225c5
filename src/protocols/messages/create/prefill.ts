import type { WireTurn } from './schema.ts';

/** A turn that says nothing and changes nobody's turn: some clients end with one. */
export const isSilent = ({ role, content }: WireTurn): boolean =>
  role === 'system' &&
  (typeof content === 'string' ? content === '' : content.every((block) => block.type === 'text' && block.text === ''));

/**
 * Where the turns that begin the answer stand: all of the assistant's at the end, which are one message. Empty where the
 * last word is another's.
 */
export function prefillOf(turns: readonly WireTurn[]): readonly number[] {
  const places: number[] = [];
  for (const [index, turn] of [...turns.entries()].reverse()) {
    if (isSilent(turn)) continue;
    if (turn.role !== 'assistant') break;
    places.unshift(index);
  }
  return places;
}
