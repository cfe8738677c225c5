/** Between two looks, in ms. The one place where tests wait for something that cannot be listened to. */
const LOOK_EVERY_MS = 50;

/**
 * Looks again and again until there is a result.
 * @throws when there is none within `withinMs`, naming what was waited for.
 */
export async function until<T>(
  what: string,
  { withinMs }: { withinMs: number },
  look: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((again) => setTimeout(again, LOOK_EVERY_MS));
  }
}
