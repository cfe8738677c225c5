/** A map that forgets what was unused for longest once it holds too much. */
export interface Lru<V> {
  get(key: string): V | undefined;
  /** What alone is heavier than all may be is not kept. */
  set(key: string, value: V, weight: number): void;
}

export interface LruOptions {
  readonly entriesMax: number;
  /** Of all entries together, in whatever unit `set` is told. */
  readonly weightMax: number;
}

export function createLru<V>({ entriesMax, weightMax }: LruOptions): Lru<V> {
  /** In order of use: a map keeps the order in which keys were set. */
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
