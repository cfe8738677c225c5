/** `due`: a job may start now. `cancelled`: a job was canceled. */
export type JobEvent = 'due' | 'cancelled';

/**
 * In-process signal from code that writes jobs to the worker of the same process, which may not exist yet or ever.
 * The store remains the source of truth: a missed signal only delays a job until the worker's next poll.
 */
export interface JobNotifier {
  /** Call after the transaction has committed: inside it, the worker could not see the job yet. */
  notify(event: JobEvent): void;
  /** @returns a function that ends the subscription. */
  subscribe(listener: (event: JobEvent) => void): () => void;
}

export function createJobNotifier(): JobNotifier {
  const listeners = new Set<(event: JobEvent) => void>();
  return {
    notify(event) {
      for (const listener of listeners) listener(event);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
