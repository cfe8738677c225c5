/** Runs work in order and starts some of it early. */
export interface Prefetcher<Result> {
  /** Returns the result of the item at `index`, and starts the items after it. */
  get(index: number): Promise<Result>;
}

/**
 * Creates a prefetcher. Work that fails before it is requested, for example because the engine has no second slot, runs
 * again when requested.
 *
 * @param ahead Number of items after the requested one that run at the same time.
 */
export function createPrefetcher<Item, Result>(
  items: readonly Item[],
  { ahead, work }: { readonly ahead: number; readonly work: (item: Item) => Promise<Result> },
): Prefetcher<Result> {
  const started: (() => Promise<Result>)[] = [];

  const start = (item: Item, isRequested: boolean): (() => Promise<Result>) => {
    const result = work(item);
    let isFailed = false;
    // A prefetched item may never be requested, so its rejection must not be unhandled.
    result.catch(() => {
      isFailed = !isRequested;
    });
    return () => (isFailed ? work(item) : result);
  };

  return {
    get(index) {
      for (const item of items.slice(started.length, index + 1 + ahead))
        started.push(start(item, started.length <= index));
      return started[index]?.() ?? Promise.reject(new RangeError(`there is no item ${index}`));
    },
  };
}
