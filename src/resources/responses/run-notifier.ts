/** `updated`: new events or a new state are stored. `ended`: the run has finished, was canceled or was deleted. */
export type RunEvent = 'updated' | 'ended';

/**
 * In-process signal between code that produces a background run and code that follows or ends it. The store remains the
 * source of truth: other processes notice a change at their next poll.
 */
export interface RunNotifier {
  /** Call after the transaction has committed. */
  notify(id: string, event: RunEvent): void;
  /** @returns a function that ends the subscription. */
  subscribe(id: string, listener: (event: RunEvent) => void): () => void;
}

export function createRunNotifier(): RunNotifier {
  const listeners = new Map<string, Set<(event: RunEvent) => void>>();
  return {
    notify(id, event) {
      for (const listener of listeners.get(id) ?? []) listener(event);
    },
    subscribe(id, listener) {
      const listenersOfRun = listeners.get(id) ?? new Set();
      listeners.set(id, listenersOfRun.add(listener));
      return () => {
        listenersOfRun.delete(listener);
        if (listenersOfRun.size === 0 && listeners.get(id) === listenersOfRun) listeners.delete(id);
      };
    },
  };
}
