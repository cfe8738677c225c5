import type { Clock } from '../lib/clock.ts';
import type { TextEngine } from './engine.ts';

/** The part of an engine that the registry uses. */
export type ManagedEngine = Pick<TextEngine, 'state' | 'close'>;

/** The right to use an engine; the registry does not close it before the release. */
export interface EngineLease<Engine = TextEngine> {
  readonly engine: Engine;
  /**
   * Ends the lease; further calls have no effect.
   * @param idleMs Time since the last use of the engine, in ms; default 0.
   */
  release(idleMs?: number): void;
}

/**
 * Engines by key. An engine is created on first use and kept while it is leased. To make space for a new engine, the
 * registry closes the least recently used engine without a lease.
 */
export interface EngineRegistry<Engine extends ManagedEngine> {
  /**
   * Returns the engine of the key, and creates it if necessary. The number of engines exceeds `enginesMax` only while
   * all of them are leased.
   * @param create Rejects with a ServiceError if the engine is not available now (weights missing or downloading).
   */
  lease(key: string, create: () => Promise<Engine>): Promise<EngineLease<Engine>>;
  /** Returns the open engines. */
  list(): readonly Engine[];
  /** Returns the engine of the key if it is open. */
  find(key: string): Engine | undefined;
  /** Returns the state of an engine without creating it; `starting` while it is being created. */
  getState(key: string): TextEngine['state'] | undefined;
  /** Closes the engines without a lease that `shouldClose` selects. */
  closeIdle(shouldClose: (engine: Engine) => boolean): Promise<void>;
  /** Closes the engines whose key is no longer needed: at once, or when their last lease ends. */
  retire(isWanted: (key: string) => boolean): Promise<void>;
  close(): Promise<void>;
}

export interface EngineRegistryOptions {
  readonly enginesMax: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Asks other processes to release leases that they hold but do not use; resolves when they have done so. */
  readonly recallLeases?: () => Promise<void>;
}

interface RegistryEntry<Engine> {
  readonly engine: Promise<Engine>;
  created?: Engine;
  leases: number;
  /** Time of the last use, in ms of the monotonic clock. */
  usedAt: number;
  /** Whether the engine is closed when its last lease ends. */
  isRetired?: boolean;
}

export function createEngineRegistry<Engine extends ManagedEngine>({
  enginesMax,
  clock,
  recallLeases,
}: EngineRegistryOptions): EngineRegistry<Engine> {
  const entries = new Map<string, RegistryEntry<Engine>>();

  const drop = async (key: string): Promise<void> => {
    const entry = entries.get(key);
    entries.delete(key);
    await (await entry?.engine.catch(() => undefined))?.close();
  };

  const evictIdle = async (): Promise<void> => {
    if (entries.size <= enginesMax) return;
    await recallLeases?.();
    const idle = [...entries].filter(([, { leases }]) => leases === 0).toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [key] of idle.slice(0, Math.max(0, entries.size - enginesMax))) await drop(key);
  };

  const createEntry = (key: string, create: () => Promise<Engine>): RegistryEntry<Engine> => {
    // Eviction starts when this entry is counted and leased.
    const entry: RegistryEntry<Engine> = {
      engine: Promise.resolve().then(evictIdle).then(create),
      leases: 0,
      usedAt: 0,
    };
    entries.set(key, entry);
    entry.engine.then(
      (engine) => (entry.created = engine),
      () => entries.get(key) === entry && entries.delete(key),
    );
    return entry;
  };

  return {
    async lease(key, create) {
      const entry = entries.get(key) ?? createEntry(key, create);
      // Moved to the end of the map: entries with the same `usedAt` keep the order of their use.
      entries.delete(key);
      entries.set(key, entry);
      entry.usedAt = clock.monotonic();
      entry.leases++;
      entry.isRetired = false;
      let isReleased = false;
      const release = (idleMs = 0): void => {
        if (isReleased) return;
        isReleased = true;
        entry.leases--;
        entry.usedAt = Math.max(entry.usedAt, clock.monotonic() - idleMs);
        if (entry.isRetired && entry.leases === 0 && entries.get(key) === entry) drop(key).catch(() => undefined);
      };
      try {
        return { engine: await entry.engine, release };
      } catch (error) {
        release();
        throw error;
      }
    },
    list: () => [...entries.values()].flatMap(({ created }) => created ?? []),
    find: (key) => entries.get(key)?.created,
    getState(key) {
      const entry = entries.get(key);
      return entry && (entry.created?.state ?? 'starting');
    },
    async closeIdle(shouldClose) {
      const idle = [...entries].filter(
        ([, { leases, created }]) => leases === 0 && created !== undefined && shouldClose(created),
      );
      await Promise.all(idle.map(([key]) => drop(key)));
    },
    async retire(isNeeded) {
      const retired = [...entries].filter(([key]) => !isNeeded(key));
      for (const [, entry] of retired) entry.isRetired = true;
      await Promise.all(retired.flatMap(([key, { leases }]) => (leases === 0 ? [drop(key)] : [])));
    },
    async close() {
      await Promise.all([...entries.keys()].map(drop));
    },
  };
}
