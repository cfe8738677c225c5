/** Between two looks, in ms. The one place where tests wait for something that cannot be listened to. */
const LOOK_EVERY_MS = 50;

/** A machine that stands still for a while takes no turn away from what is waited for: it has at least so many. */
const LOOKS_MIN = 20;

/**
 * Looks again and again until there is a result.
 * @throws when there is none within `withinMs`, naming what was waited for. The last look begins after that time.
 */
export async function until<T>(
  what: string,
  { withinMs }: { withinMs: number },
  look: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (let looks = 1; ; looks += 1) {
    const isLast = looks >= LOOKS_MIN && performance.now() > deadline;
    const found = await look();
    if (found !== undefined) return found;
    if (isLast) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((again) => setTimeout(again, LOOK_EVERY_MS));
  }
}
