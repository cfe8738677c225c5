/**
 * Finds the first of several strings in a text that arrives in pieces. Holds back only text that may become one of
 * them. The work per piece depends on the piece and the longest string, not on the text so far.
 */
export interface StopMatcher {
  /**
   * `text` is safe to pass on. After a `match`, `rest` is the text that follows it, and `push` must not be called
   * again.
   */
  push(piece: string): { text: string; match?: string; rest?: string };
  /** Returns the text that was held back, at the end of a text without a match. */
  end(): string;
}

/** @param stops Non-empty strings. When two end at the same position, the one that starts first wins. */
export function createStopMatcher(stops: readonly string[]): StopMatcher {
  let buffered = '';
  return {
    push(piece) {
      if (stops.length === 0) return { text: piece };
      buffered += piece;
      const found = findFirstMatch(buffered, stops);
      if (found) {
        const text = buffered.slice(0, found.at);
        const rest = buffered.slice(found.at + found.stop.length);
        buffered = '';
        return { text, match: found.stop, rest };
      }
      const partialLength = measurePartialMatch(buffered, stops);
      const text = buffered.slice(0, buffered.length - partialLength);
      buffered = buffered.slice(buffered.length - partialLength);
      return { text };
    },
    end() {
      const text = buffered;
      buffered = '';
      return text;
    },
  };
}

/** Finds the match that ends first, and of several the longest. The result is the same for any division into pieces. */
function findFirstMatch(text: string, stops: readonly string[]): { at: number; stop: string } | undefined {
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

/** Returns the length of the longest suffix of `text` that is a proper prefix of one of `stops`. */
function measurePartialMatch(text: string, stops: readonly string[]): number {
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
