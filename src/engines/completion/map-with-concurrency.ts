/** Maps items to results in the same order, at most `concurrencyMax` at a time. Rejects with the first failure. */
export async function mapWithConcurrency<Item, Result>(
  items: readonly Item[],
  concurrencyMax: number,
  mapItem: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = new Map<number, Result>();
  const remaining = items.entries();
  const runWorker = async (): Promise<void> => {
    for (const [at, item] of remaining) results.set(at, await mapItem(item));
  };
  await Promise.all(Array.from({ length: Math.min(concurrencyMax, items.length) }, runWorker));
  return items.flatMap((_, at) => {
    const result = results.get(at);
    return result === undefined ? [] : [result];
  });
}
