/** What the worker of this process need not wait for: jobs that are due now, or jobs that were cancelled. */
export type JobNews = 'due' | 'cancelled';

/**
 * Between those who write jobs and the worker of the same process, which may not be there yet, or never. Only the store tells
 * what is so: a ring that nobody hears costs the time until the next look, and one too many costs a look.
 */
export interface JobBell {
  /** After the transaction, never inside it: the job would not be there to be seen. */
  ring(news: JobNews): void;
  /** Returns what ends it. */
  listen(hear: (news: JobNews) => void): () => void;
}

export function createJobBell(): JobBell {
  const listeners = new Set<(news: JobNews) => void>();
  return {
    ring(news) {
      for (const hear of listeners) hear(news);
    },
    listen(hear) {
      listeners.add(hear);
      return () => void listeners.delete(hear);
    },
  };
}
