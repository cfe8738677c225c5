import type { Clock } from '../lib/clock.ts';
import type { TextEngine } from './engine.ts';

/** What a registry keeps. */
export type Kept = Pick<TextEngine, 'state' | 'close'>;

/** An engine for as long as somebody works with it. */
export interface Lease<Engine = TextEngine> {
  readonly engine: Engine;
  /**
   * Once per lease; more often changes nothing.
   * @param idleMs How long ago it was worked with last, where that is not now.
   */
  release(idleMs?: number): void;
}

/** Engines by key: made when first asked for, kept while used, the least recently used idle one closed for a new one. */
export interface Registry<Engine extends Kept> {
  /**
   * The engine, which is not closed before the lease is released. More than `enginesMax` are there only while all of
   * them are leased.
   * @param create Rejects with a ServiceError when the engine cannot be had now (weights missing or downloading).
   */
  lease(key: string, create: () => Promise<Engine>): Promise<Lease<Engine>>;
  /** Keys of engines that exist now. */
  keys(): readonly string[];
  /** How an engine does, without asking for it; `starting` while it is being made. */
  stateOf(key: string): TextEngine['state'] | undefined;
  /** Closes those that nobody leases now. @param isMeant Which of them. */
  closeIdle(isMeant: (engine: Engine) => boolean): Promise<void>;
  close(): Promise<void>;
}

export interface RegistryOptions {
  readonly enginesMax: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Asks holders elsewhere to release what they hold and do not use; room is made when it resolves. */
  readonly recall?: () => Promise<void>;
}

interface Loaded<Engine> {
  readonly engine: Promise<Engine>;
  made?: Engine;
  leases: number;
  /** In ms of the monotonic clock. */
  usedAt: number;
}

export function createRegistry<Engine extends Kept>({ enginesMax, clock, recall }: RegistryOptions): Registry<Engine> {
  const loaded = new Map<string, Loaded<Engine>>();

  const drop = async (key: string): Promise<void> => {
    const entry = loaded.get(key);
    loaded.delete(key);
    await (await entry?.engine.catch(() => undefined))?.close();
  };

  const makeRoom = async (): Promise<void> => {
    if (loaded.size <= enginesMax) return;
    await recall?.();
    const idle = [...loaded].filter(([, { leases }]) => leases === 0).toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [key] of idle.slice(0, Math.max(0, loaded.size - enginesMax))) await drop(key);
  };

  const make = (key: string, create: () => Promise<Engine>): Loaded<Engine> => {
    // Room is made when this one is counted, and leased.
    const entry: Loaded<Engine> = {
      engine: Promise.resolve().then(makeRoom).then(create),
      leases: 0,
      usedAt: 0,
    };
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
      // Behind those that were used before it, also where the clock shows the same time.
      loaded.delete(key);
      loaded.set(key, entry);
      entry.usedAt = clock.monotonic();
      entry.leases++;
      let isReleased = false;
      const release = (idleMs = 0): void => {
        if (isReleased) return;
        isReleased = true;
        entry.leases--;
        entry.usedAt = Math.max(entry.usedAt, clock.monotonic() - idleMs);
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
    async closeIdle(isMeant) {
      const idle = [...loaded].filter(([, { leases, made }]) => leases === 0 && made !== undefined && isMeant(made));
      await Promise.all(idle.map(([key]) => drop(key)));
    },
    async close() {
      await Promise.all([...loaded.keys()].map(drop));
    },
  };
}
