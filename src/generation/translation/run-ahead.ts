/** Work in order, some of it begun before its turn. */
export interface RunAhead<Result> {
  /** Of the item at that place; begins those behind it, too. */
  at(index: number): Promise<Result>;
}

/**
 * @param ahead How many items behind the one that is waited for are worked on at the same time.
 */
export function runAhead<Item, Result>(
  items: readonly Item[],
  { ahead, work }: { readonly ahead: number; readonly work: (item: Item) => Promise<Result> },
): RunAhead<Result> {
  const begun: Promise<Result>[] = [];
  return {
    at(index) {
      for (const item of items.slice(begun.length, index + 1 + ahead)) {
        const result = work(item);
        // It is awaited in its turn; if that never comes, nobody has to hear of a failure.
        result.catch(() => undefined);
        begun.push(result);
      }
      const result = begun[index];
      return result ?? Promise.reject(new RangeError(`there is no item ${index}`));
    },
  };
}
