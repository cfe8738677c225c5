/** Splits events into batches of the given sizes, in rotation. A size of 0 adds an empty batch before the next event. */
export function splitIntoBatches<Event>(events: readonly Event[], sizes: readonly number[]): Event[][] {
  const batches: Event[][] = [];
  for (let at = 0, round = 0; at < events.length; round++) {
    const size = sizes[round % sizes.length] ?? 1;
    batches.push(events.slice(at, at + size));
    at += Math.max(size, 1);
    if (size === 0) batches.push(events.slice(at - 1, at));
  }
  return batches;
}
