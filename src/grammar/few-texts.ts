import type { Automaton } from './automaton.ts';

/** All texts of an automaton, sorted by their first character, where there are no more than `max`. */
export function fewTexts({ start, states }: Automaton, max: number): readonly string[] | undefined {
  const texts: string[] = [];
  const waiting = [{ state: start, text: '' }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { accepts, moves } = states[next.state] ?? { accepts: false, moves: [] };
    if (accepts) texts.push(next.text);
    for (const { from, to, state } of moves.toReversed()) {
      for (let codePoint = to; codePoint >= from; codePoint--) {
        // Each beginning goes on to at least one text; one that is longer than the states are many goes on for ever.
        if (texts.length + waiting.length >= max || next.text.length > 2 * states.length) return undefined;
        waiting.push({ state, text: next.text + String.fromCodePoint(codePoint) });
      }
    }
  }
  return texts.length > max ? undefined : texts;
}
