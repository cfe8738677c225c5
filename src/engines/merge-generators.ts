/**
 * Merges several generators, yielding items as they arrive; each source may be one item ahead of the reader. The first
 * failure fails the merged generator. The reader must end the sources when it stops reading.
 */
export async function* mergeGenerators<T>(sources: readonly AsyncGenerator<T, void>[]): AsyncGenerator<T, void> {
  const [only, ...others] = sources;
  if (only && others.length === 0) return yield* only;
  type Next = { readonly source: AsyncGenerator<T, void>; readonly result: IteratorResult<T, void> };
  const pendingBySource = new Map<AsyncGenerator<T, void>, Promise<Next>>();
  const requestNext = (source: AsyncGenerator<T, void>): void => {
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
