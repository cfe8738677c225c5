import type { Clock } from '../../lib/clock.ts';

/** Cache bounded in entries and age; when full, it evicts the oldest entry. */
export interface TtlCache<Value> {
  get(hash: string): Value | undefined;
  /** Returns an entry whatever its age. */
  peek(hash: string): Value | undefined;
  /** @param fetchedAt `clock.monotonic()` from before the lookup: the entry's age counts from there. */
  set(hash: string, value: Value, fetchedAt: number): void;
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
      if (!entry) return undefined;
      if (clock.monotonic() - entry.fetchedAt < ttlMs) return entry.value;
      entries.delete(hash);
      return undefined;
    },
    peek: (hash) => entries.get(hash)?.value,
    set(hash, value, fetchedAt) {
      entries.delete(hash);
      entries.set(hash, { value, fetchedAt });
      if (entries.size <= entriesMax) return;
      const [oldest] = entries.keys();
      if (oldest !== undefined) entries.delete(oldest);
    },
    clear: () => entries.clear(),
  };
}
