/**
 * What several sources bring, as it comes; each may be ahead of its reader by one item. The first failure is the whole's.
 * Whoever reads has to make sure that sources end when the reading does.
 */
export async function* sideBySide<T>(sources: readonly AsyncGenerator<T, void>[]): AsyncGenerator<T, void> {
  const [only, ...others] = sources;
  if (only && others.length === 0) return yield* only;
  type Next = { readonly source: AsyncGenerator<T, void>; readonly result: IteratorResult<T, void> };
  const coming = new Map<AsyncGenerator<T, void>, Promise<Next>>();
  const ask = (source: AsyncGenerator<T, void>): void => {
    const next = source.next().then((result) => ({ source, result }));
    // Its failure is heard below, or nobody reads any more.
    next.catch(() => undefined);
    coming.set(source, next);
  };
  for (const source of sources) ask(source);
  while (coming.size > 0) {
    const { source, result } = await Promise.race(coming.values());
    if (result.done === true) {
      coming.delete(source);
      continue;
    }
    ask(source);
    yield result.value;
  }
}
