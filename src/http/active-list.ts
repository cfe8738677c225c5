/** The calls or websockets in progress. A shutdown waits for them and then aborts them. */
export interface ActiveList<Item> {
  add(item: Item): void;
  remove(item: Item): void;
  count(): number;
  /** Returns a copy: an item that is aborted removes itself. */
  list(): readonly Item[];
  /** Waits until no item is left. @returns false if one is left after `ms`. */
  waitUntilEmpty(ms: number): Promise<boolean>;
}

export function createActiveList<Item>(): ActiveList<Item> {
  // Not a Set: with constant insertion and removal V8 copies its table again and again. Each old table references the
  // next one, and an old table that was promoted retains all later ones, with every item in them, until the next full
  // collection.
  const items: Item[] = [];
  const waiters = new Set<() => void>();
  return {
    add: (item) => void items.push(item),
    remove(item) {
      const index = items.indexOf(item);
      if (index < 0) return;
      const last = items.pop();
      if (last && index < items.length) items[index] = last;
      if (items.length > 0) return;
      for (const notify of waiters) notify();
    },
    count: () => items.length,
    list: () => items.slice(),
    waitUntilEmpty(ms) {
      if (items.length === 0) return Promise.resolve(true);
      return new Promise((resolve) => {
        const settle = (isEmpty: boolean): void => {
          clearTimeout(timer);
          waiters.delete(notify);
          resolve(isEmpty);
        };
        const notify = (): void => settle(true);
        const timer = setTimeout(() => settle(false), ms);
        waiters.add(notify);
      });
    },
  };
}
