import type { TextEngine } from './engine.ts';

/** An engine for as long as somebody works with it. */
export interface Lease {
  readonly engine: TextEngine;
  /** Once per lease; more often changes nothing. */
  release(): void;
}

/** Engines by key: made when first asked for, kept while used, the least recently used idle one closed for a new one. */
export interface Registry {
  /**
   * The engine, which is not closed before the lease is released. More than `enginesMax` are there only while all of
   * them are leased.
   * @param create Rejects with a ServiceError when the engine cannot be had now (weights missing or downloading).
   */
  lease(key: string, create: () => Promise<TextEngine>): Promise<Lease>;
  /** Keys of engines that exist now. */
  keys(): readonly string[];
  /** How an engine does, without asking for it; `starting` while it is being made. */
  stateOf(key: string): TextEngine['state'] | undefined;
  close(): Promise<void>;
}

interface Loaded {
  readonly engine: Promise<TextEngine>;
  made?: TextEngine;
  leases: number;
  usedAt: number;
}

export function createRegistry({ enginesMax }: { enginesMax: number }): Registry {
  const loaded = new Map<string, Loaded>();
  let uses = 0;

  const drop = async (key: string): Promise<void> => {
    const entry = loaded.get(key);
    loaded.delete(key);
    await (await entry?.engine.catch(() => undefined))?.close();
  };

  const makeRoom = async (): Promise<void> => {
    const idle = [...loaded].filter(([, { leases }]) => leases === 0).toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [key] of idle.slice(0, Math.max(0, loaded.size + 1 - enginesMax))) await drop(key);
  };

  const make = (key: string, create: () => Promise<TextEngine>): Loaded => {
    const entry: Loaded = { engine: makeRoom().then(create), leases: 0, usedAt: 0 };
    loaded.set(key, entry);
    entry.engine.then(
      (engine) => (entry.made = engine),
      () => loaded.get(key) === entry && loaded.delete(key),
    );
    return entry;
  };

  return {
    async lease(key, create) {
      const entry = loaded.get(key) ?? make(key, create);
      entry.usedAt = ++uses;
      entry.leases++;
      let isReleased = false;
      const release = (): void => {
        if (!isReleased) entry.leases--;
        isReleased = true;
      };
      try {
        return { engine: await entry.engine, release };
      } catch (error) {
        release();
        throw error;
      }
    },
    keys: () => [...loaded.keys()],
    stateOf(key) {
      const entry = loaded.get(key);
      return entry && (entry.made?.state ?? 'starting');
    },
    async close() {
      await Promise.all([...loaded.keys()].map(drop));
    },
  };
}
