import type { JobProgress } from '../core/job.ts';

/** What has been reported and not been written yet. */
export interface ProgressNews {
  readonly progress?: JobProgress | undefined;
  readonly hasMoved: boolean;
}

const NOTHING: ProgressNews = { hasMoved: false };

export interface ProgressTrack {
  report(progress: JobProgress): void;
  /** What there is. */
  look(): ProgressNews;
  /** The same, to be written: it is no news from then on, unless it is put back. */
  take(): ProgressNews;
  putBack(news: ProgressNews): void;
}

/**
 * Whether a job moves on: `done` rises above what it ever was in that step. A step that was not known counts from where it
 * begins; the first of all from 0. So what dies at the same place again and again does not move: its last step is known.
 *
 * @param last What the attempt before has written.
 */
export function createProgressTrack(last: JobProgress | undefined): ProgressTrack {
  const highest = new Map<string | undefined, number>(last ? [[last.step, last.done]] : []);
  let news = NOTHING;
  return {
    report(progress) {
      const { step, done } = progress;
      const before = highest.get(step) ?? (highest.size === 0 ? 0 : done);
      highest.set(step, Math.max(before, done));
      news = { progress, hasMoved: news.hasMoved || done > before };
    },
    look: () => news,
    take() {
      const taken = news;
      news = NOTHING;
      return taken;
    },
    putBack(taken) {
      news = { progress: news.progress ?? taken.progress, hasMoved: news.hasMoved || taken.hasMoved };
    },
  };
}
