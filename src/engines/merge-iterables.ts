/**
 * Merges several iterables, yielding items as they arrive; each source may be one item ahead of the reader. The first
 * failure fails the merged generator. The reader must end the sources when it stops reading.
 */
export async function* mergeIterables<T>(iterables: readonly AsyncIterable<T>[]): AsyncGenerator<T, void> {
  const [only, ...others] = iterables;
  if (only && others.length === 0) return yield* only;
  const sources = iterables.map((iterable) => iterable[Symbol.asyncIterator]());
  type Next = { readonly source: AsyncIterator<T>; readonly result: IteratorResult<T> };
  const pendingBySource = new Map<AsyncIterator<T>, Promise<Next>>();
  const requestNext = (source: AsyncIterator<T>): void => {
    const next = source.next().then((result) => ({ source, result }));
    // The failure is thrown by the race below, unless the reader has left.
    next.catch(() => undefined);
    pendingBySource.set(source, next);
  };
  for (const source of sources) requestNext(source);
  while (pendingBySource.size > 0) {
    const { source, result } = await Promise.race(pendingBySource.values());
    if (result.done === true) {
      pendingBySource.delete(source);
      continue;
    }
    requestNext(source);
    yield result.value;
  }
}
