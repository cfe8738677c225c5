import { startInterval as systemEvery, type StartInterval } from './start-interval.ts';

export interface PeriodicTaskOptions {
  /** Time in ms between the starts of two runs. A run that takes longer delays the next one. */
  readonly intervalMs: number;
  /** Called for each run. A long run should check `isClosing` between its steps. */
  readonly run: (isClosing: () => boolean) => Promise<unknown>;
  /** Called when a run rejects. The next run takes place nevertheless. */
  readonly onFailure: (error: unknown) => void;
  readonly startInterval?: StartInterval | undefined;
}

export interface PeriodicTask {
  /** Starts no more runs, and resolves when the current run has finished. */
  close(): Promise<void>;
}

/** Runs a task immediately and then periodically, one run at a time. */
export function startPeriodicTask({
  intervalMs,
  run,
  onFailure,
  startInterval = systemEvery,
}: PeriodicTaskOptions): PeriodicTask {
  let isClosed = false;
  let running: Promise<void> | undefined;
  const runUnlessBusy = (): void => {
    running ??= run(() => isClosed)
      .then(() => undefined, onFailure)
      .finally(() => {
        running = undefined;
      });
  };
  const stop = startInterval(intervalMs, runUnlessBusy);
  runUnlessBusy();
  return {
    async close() {
      isClosed = true;
      stop();
      await running;
    },
  };
}
