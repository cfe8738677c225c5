import type { Clock } from '../../lib/clock.ts';

/** What was learnt a moment ago, by hash. Bounded in number and age. */
export interface CheckCache<Value> {
  get(hash: string): Value | undefined;
  /** @param since `clock.monotonic()` from before the value was asked for: its age counts from there. */
  set(hash: string, value: Value, since: number): void;
  clear(): void;
}

export function createCheckCache<Value>({
  clock,
  ageMsMax,
  entriesMax,
}: {
  clock: Clock;
  ageMsMax: number;
  entriesMax: number;
}): CheckCache<Value> {
  const entries = new Map<string, { value: Value; since: number }>();
  return {
    get(hash) {
      const entry = entries.get(hash);
      if (!entry) return undefined;
      if (clock.monotonic() - entry.since < ageMsMax) return entry.value;
      entries.delete(hash);
      return undefined;
    },
    set(hash, value, since) {
      entries.delete(hash);
      entries.set(hash, { value, since });
      if (entries.size <= entriesMax) return;
      const [oldest] = entries.keys();
      if (oldest !== undefined) entries.delete(oldest);
    },
    clear: () => entries.clear(),
  };
}
