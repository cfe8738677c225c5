type Identified = { readonly id: number };

/**
 * Removes from `held`, in place, what is decided after its last token: a stop sequence at its end, or the tokens that no
 * stop sequence can begin with any more.
 *
 * @returns the tokens that are safe to output, in order, and whether a stop sequence was found.
 */
export function releaseHeldTokens<Token extends Identified>(
  held: Token[],
  stops: readonly (readonly number[])[],
): { readonly released: readonly Token[]; readonly isStopped: boolean } {
  const hit = stops.find((stop) => endsWith(held, stop, stop.length));
  if (hit) {
    const released = held.slice(0, held.length - hit.length);
    held.length = 0;
    return { released, isStopped: true };
  }
  return { released: held.splice(0, held.length - countOpenStopTokens(held, stops)), isStopped: false };
}

function endsWith(tokens: readonly Identified[], stop: readonly number[], prefixLength: number): boolean {
  if (prefixLength > tokens.length) return false;
  for (let i = 0; i < prefixLength; i++) if (tokens[tokens.length - prefixLength + i]?.id !== stop[i]) return false;
  return true;
}

/** Counts the last tokens that are a proper prefix of a stop sequence. */
function countOpenStopTokens(tokens: readonly Identified[], stops: readonly (readonly number[])[]): number {
  let longest = 0;
  for (const stop of stops)
    for (let length = Math.min(stop.length - 1, tokens.length); length > longest; length--)
      if (endsWith(tokens, stop, length)) longest = length;
  return longest;
}
