/** `told`: there is more of it to be read. `ended`: nobody wants what is still being made of it. */
export type RunNews = 'told' | 'ended';

/**
 * Between those of one process who make a response and those who wait for it or end it. Only the store tells what is so:
 * whoever is in another process looks there, a little later.
 */
export interface RunBell {
  /** After the transaction, never inside it. */
  ring(id: string, news: RunNews): void;
  /** Returns what ends it. */
  listen(id: string, hear: (news: RunNews) => void): () => void;
}

export function createRunBell(): RunBell {
  const listeners = new Map<string, Set<(news: RunNews) => void>>();
  return {
    ring(id, news) {
      for (const hear of listeners.get(id) ?? []) hear(news);
    },
    listen(id, hear) {
      const own = listeners.get(id) ?? new Set();
      listeners.set(id, own.add(hear));
      return () => {
        own.delete(hear);
        if (own.size === 0 && listeners.get(id) === own) listeners.delete(id);
      };
    },
  };
}
