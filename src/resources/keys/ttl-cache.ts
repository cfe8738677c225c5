import type { Clock } from '../../lib/clock.ts';

/** Cache bounded in entries and age; when full, it evicts the oldest entry. */
export interface TtlCache<Value> {
  get(hash: string): Value | undefined;
  /** Returns an entry whatever its age. */
  peek(hash: string): Value | undefined;
  /** @param fetchedAt `clock.monotonic()` from before the lookup: the entry's age counts from there. */
  set(hash: string, value: Value, fetchedAt: number): void;
  delete(hash: string): void;
  clear(): void;
}

export function createTtlCache<Value>({
  clock,
  ttlMs,
  entriesMax,
}: {
  clock: Clock;
  ttlMs: number;
  entriesMax: number;
}): TtlCache<Value> {
  const entries = new Map<string, { value: Value; fetchedAt: number }>();
  return {
    get(hash) {
      const entry = entries.get(hash);
      // An old entry stays for `peek` until it is replaced or deleted.
      return entry && clock.monotonic() - entry.fetchedAt < ttlMs ? entry.value : undefined;
    },
    peek: (hash) => entries.get(hash)?.value,
    set(hash, value, fetchedAt) {
      entries.delete(hash);
      entries.set(hash, { value, fetchedAt });
      if (entries.size <= entriesMax) return;
      const [oldest] = entries.keys();
      if (oldest !== undefined) entries.delete(oldest);
    },
    delete: (hash) => void entries.delete(hash),
    clear: () => entries.clear(),
  };
}
