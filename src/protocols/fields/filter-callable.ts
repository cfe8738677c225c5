import type { ModelEntry } from '../../catalogue/model.ts';

/** Returns whether a model answers when it is called, now or after it has been loaded. */
export type IsCallable = (entry: ModelEntry) => Promise<boolean>;

/** Keeps the models that can be called, in their order. */
export async function filterCallable(
  entries: readonly ModelEntry[],
  isCallable: IsCallable,
): Promise<readonly ModelEntry[]> {
  const results = await Promise.all(entries.map(isCallable));
  return entries.filter((_, index) => results[index]);
}
