/**
 * Finds the first of several strings in a text that arrives in pieces, holding back only what could still become one.
 *
 * The work per piece is bounded by the piece and the longest string, not by the text so far.
 */
export interface StopMatcher {
  /** `text` is safe to pass on; after a `match`, which `rest` stands behind, nothing more may be pushed. */
  push(piece: string): { text: string; match?: string; rest?: string };
  /** What was still held back when the text ended without a match. */
  end(): string;
}

/** @param stops Non-empty strings. Where two end at the same place, the one that begins first wins. */
export function createStopMatcher(stops: readonly string[]): StopMatcher {
  let held = '';
  return {
    push(piece) {
      if (stops.length === 0) return { text: piece };
      held += piece;
      const found = firstMatch(held, stops);
      if (found) {
        const text = held.slice(0, found.at);
        const rest = held.slice(found.at + found.stop.length);
        held = '';
        return { text, match: found.stop, rest };
      }
      const keep = openSuffixLength(held, stops);
      const text = held.slice(0, held.length - keep);
      held = held.slice(held.length - keep);
      return { text };
    },
    end() {
      const text = held;
      held = '';
      return text;
    },
  };
}

/** The match that is complete first while reading; of those, the longest. Any chunking finds the same one. */
function firstMatch(text: string, stops: readonly string[]): { at: number; stop: string } | undefined {
  let best: { at: number; stop: string } | undefined;
  for (const stop of stops) {
    const at = text.indexOf(stop);
    if (at < 0) continue;
    const end = at + stop.length;
    const bestEnd = best ? best.at + best.stop.length : Infinity;
    if (end < bestEnd || (end === bestEnd && best && at < best.at)) best = { at, stop };
  }
  return best;
}

/** Length of the longest suffix of `text` that is a proper prefix of one of `stops`. */
function openSuffixLength(text: string, stops: readonly string[]): number {
  let longest = 0;
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
      if (stop.startsWith(text.slice(text.length - length))) {
        longest = length;
        break;
      }
    }
  }
  return longest;
}
