import type { EngineRequest, EngineStart, TextEngine } from './engine.ts';

/** Engines by key: made when first asked for, kept while used, the least recently used idle one closed for a new one. */
export interface Registry {
  /** @param create Rejects with a ServiceError when the engine cannot be had now (weights missing or downloading). */
  get(key: string, create: () => Promise<TextEngine>): Promise<TextEngine>;
  /** Keys of engines that exist now. */
  keys(): readonly string[];
  /** Closes one, e.g. because its weights or settings changed. */
  drop(key: string): Promise<void>;
  close(): Promise<void>;
}

interface Loaded {
  readonly engine: Promise<TextEngine>;
  /** An engine that is still being made has somebody waiting for it. */
  isMade: boolean;
  running: number;
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
    const idle = [...loaded]
      .filter(([, entry]) => entry.isMade && entry.running === 0)
      .toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [key] of idle.slice(0, Math.max(0, loaded.size + 1 - enginesMax))) await drop(key);
  };

  return {
    async get(key, create) {
      let entry = loaded.get(key);
      if (!entry) {
        const made = makeRoom().then(create);
        const engine = made.then((bare) => counted(bare, () => fresh));
        const fresh: Loaded = { engine, isMade: false, running: 0, usedAt: 0 };
        entry = fresh;
        loaded.set(key, fresh);
        engine.then(
          () => (fresh.isMade = true),
          () => loaded.get(key) === fresh && loaded.delete(key),
        );
      }
      entry.usedAt = ++uses;
      return await entry.engine;
    },
    keys: () => [...loaded.keys()],
    drop,
    async close() {
      await Promise.all([...loaded.keys()].map(drop));
    },
  };
}

/** The same engine, with its running requests counted. */
function counted(engine: TextEngine, entryOf: () => Loaded): TextEngine {
  const start = async (request: EngineRequest, signal: AbortSignal): Promise<EngineStart> => {
    const entry = entryOf();
    entry.running++;
    let isOver = false;
    const over = (): void => {
      if (!isOver) entry.running--;
      isOver = true;
    };
    try {
      const started = await engine.start(request, signal);
      signal.addEventListener('abort', over, { once: true }); // a run whose batches nobody reads ends by its signal
      return { ...started, batches: endingWith(started.batches, over) };
    } catch (error) {
      over();
      throw error;
    }
  };
  return {
    capabilities: engine.capabilities,
    start,
    model: () => engine.model(),
    countTokens: (input) => engine.countTokens(input),
    close: () => engine.close(),
  };
}

async function* endingWith<T>(batches: AsyncIterable<T>, over: () => void): AsyncGenerator<T, void> {
  try {
    yield* batches;
  } finally {
    over();
  }
}
