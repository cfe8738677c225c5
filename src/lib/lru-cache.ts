/** A map that evicts its least recently used entries when it exceeds a limit. */
export interface LruCache<V> {
  get(key: string): V | undefined;
  /** Sets an entry. An entry heavier than `weightMax` is not stored; a previous entry of its key is removed. */
  set(key: string, value: V, weight: number): void;
}

export interface LruCacheOptions {
  readonly entriesMax: number;
  /** Maximum total weight of all entries, in the unit that the callers of `set` use. */
  readonly weightMax: number;
}

export function createLruCache<V>({ entriesMax, weightMax }: LruCacheOptions): LruCache<V> {
  /** In order of use: a Map iterates its keys in insertion order, and `get` inserts again. */
  const entries = new Map<string, { readonly value: V; readonly weight: number }>();
  let total = 0;

  const remove = (key: string): void => {
    total -= entries.get(key)?.weight ?? 0;
    entries.delete(key);
  };

  return {
    get(key) {
      const found = entries.get(key);
      if (!found) return undefined;
      entries.delete(key);
      entries.set(key, found);
      return found.value;
    },
    set(key, value, weight) {
      remove(key);
      if (weight > weightMax) return;
      entries.set(key, { value, weight });
      total += weight;
      for (const oldest of entries.keys()) {
        if (entries.size <= entriesMax && total <= weightMax) return;
        remove(oldest);
      }
    },
  };
}
