/** Work in order, some of it begun before its turn. */
export interface RunAhead<Result> {
  /** Of the item at that place; begins those behind it, too. */
  at(index: number): Promise<Result>;
}

/**
 * What fails before its turn, because there is no place for two or because its time has not come, is done again in its turn.
 *
 * @param ahead How many items behind the one that is waited for are worked on at the same time.
 */
export function runAhead<Item, Result>(
  items: readonly Item[],
  { ahead, work }: { readonly ahead: number; readonly work: (item: Item) => Promise<Result> },
): RunAhead<Result> {
  const begun: (() => Promise<Result>)[] = [];

  const begin = (item: Item, isInTurn: boolean): (() => Promise<Result>) => {
    const result = work(item);
    let isFailed = false;
    // It is awaited in its turn; if that never comes, nobody has to hear of a failure.
    result.catch(() => {
      isFailed = !isInTurn;
    });
    return () => (isFailed ? work(item) : result);
  };

  return {
    at(index) {
      for (const item of items.slice(begun.length, index + 1 + ahead)) begun.push(begin(item, begun.length <= index));
      return begun[index]?.() ?? Promise.reject(new RangeError(`there is no item ${index}`));
    },
  };
}
