/** Interval between two polls in ms. This is the one place where tests wait for a state that emits no event. */
const POLL_MS = 50;

/** Polls that happen at least, whatever the time: a machine that stalls for a while must not cause a timeout. */
const POLLS_MIN = 20;

/**
 * Polls until there is a result.
 * @throws when there is none within `timeoutMs`, with the description. The last poll starts after that time.
 */
export async function until<T>(
  description: string,
  { timeoutMs }: { timeoutMs: number },
  poll: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (let polls = 1; ; polls += 1) {
    const isLast = polls >= POLLS_MIN && performance.now() > deadline;
    const found = await poll();
    if (found !== undefined) return found;
    if (isLast) throw new Error(`not within ${timeoutMs} ms: ${description}`);
    await new Promise((again) => setTimeout(again, POLL_MS));
  }
}
