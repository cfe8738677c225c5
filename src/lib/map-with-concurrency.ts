/** Maps items to results in the same order, at most `concurrencyMax` at a time. Rejects with the first failure. */
export async function mapWithConcurrency<Item, Result>(
  items: readonly Item[],
  concurrencyMax: number,
  mapItem: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const remaining = items.entries();
  const runWorker = async (): Promise<void> => {
    for (const [at, item] of remaining) results[at] = await mapItem(item);
  };
  await Promise.all(Array.from({ length: Math.min(concurrencyMax, items.length) }, runWorker));
  return results;
}
