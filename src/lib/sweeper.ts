import { every as systemEvery, type Every } from './every.ts';

export interface SweeperNeeds {
  /** Between the beginnings of two sweeps. */
  readonly everyMs: number;
  /** One at a time: while it runs, none begins. In its steps it asks whether it should end. */
  readonly sweep: (isOver: () => boolean) => Promise<unknown>;
  /** The next one comes all the same. */
  readonly onFailure: (error: unknown) => void;
  readonly every?: Every | undefined;
}

export interface Sweeper {
  /** Nothing begins from here on; resolves when what runs has ended. */
  close(): Promise<void>;
}

/** Sweeps now and from time to time, beside whatever else a process does. */
export function startSweeper({ everyMs, sweep, onFailure, every = systemEvery }: SweeperNeeds): Sweeper {
  let isClosed = false;
  let running: Promise<void> | undefined;
  const look = (): void => {
    running ??= sweep(() => isClosed)
      .then(() => undefined, onFailure)
      .finally(() => {
        running = undefined;
      });
  };
  const stop = every(everyMs, look);
  look();
  return {
    async close() {
      isClosed = true;
      stop();
      await running;
    },
  };
}
