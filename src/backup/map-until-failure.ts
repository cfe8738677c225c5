import { mapWithConcurrency } from '../lib/map-with-concurrency.ts';

/**
 * Maps items to results in the same order, at most `concurrencyMax` at a time. After a failure no item is started, and it
 * rejects with that failure when the running ones have ended: nothing is written after that.
 */
export async function mapUntilFailure<Item, Result>(
  items: readonly Item[],
  concurrencyMax: number,
  mapItem: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  let failure: { readonly thrown: unknown } | undefined;
  const results: Result[] = [];
  await mapWithConcurrency([...items.entries()], concurrencyMax, async ([at, item]) => {
    if (failure) return;
    try {
      results[at] = await mapItem(item);
    } catch (thrown) {
      failure ??= { thrown };
    }
  });
  if (failure) throw failure.thrown;
  return results;
}
