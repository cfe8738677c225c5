/** Results in the order of the items; at most `atOnce` are worked on at a time. The first failure is the whole's. */
export async function someAtATime<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = new Map<number, Result>();
  const waiting = items.entries();
  const one = async (): Promise<void> => {
    for (const [at, item] of waiting) results.set(at, await work(item));
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, one));
  return items.flatMap((_, at) => {
    const result = results.get(at);
    return result === undefined ? [] : [result];
  });
}
