import type { Automaton } from './automaton.ts';

/** Lists all texts of an automaton in order of their characters; undefined when there are more than `max`. */
export function listFewTexts({ start, states }: Automaton, max: number): readonly string[] | undefined {
  const texts: string[] = [];
  const stack = [{ state: start, text: '' }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { accepts, transitions } = states[next.state] ?? { accepts: false, transitions: [] };
    if (accepts) texts.push(next.text);
    for (const { from, to, state } of transitions.toReversed()) {
      for (let codePoint = to; codePoint >= from; codePoint--) {
        // Each prefix leads to at least one text; a prefix longer than twice the number of states is in a loop.
        if (texts.length + stack.length >= max || next.text.length > 2 * states.length) return undefined;
        stack.push({ state, text: next.text + String.fromCodePoint(codePoint) });
      }
    }
  }
  return texts.length > max ? undefined : texts;
}
