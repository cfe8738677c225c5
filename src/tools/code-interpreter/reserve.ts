import type { Log } from '../../core/telemetry.ts';
import type { ProgramProcess } from './program-process.ts';

/** Processes that are ready before somebody needs one. */
export interface Reserve {
  /** One that is ready, or is getting ready. */
  take(): ProgramProcess;
  /** How many wait that are ready. */
  ready(): number;
  close(): Promise<void>;
}

interface ReserveOptions {
  readonly start: () => ProgramProcess;
  readonly size: number;
  readonly log: Log;
}

export function createReserve({ start, size, log }: ReserveOptions): Reserve {
  const waiting = new Set<ProgramProcess>();
  const ready = new Set<ProgramProcess>();
  let isClosed = false;

  const add = (): void => {
    const process = start();
    waiting.add(process);
    process.ready.then(
      () => ready.add(process),
      (error: unknown) => {
        if (!isClosed) log.error('a process of the code interpreter did not get ready', { error });
      },
    );
    // It is not replaced before somebody needs one: what ends by itself would do so again.
    void process.ended.then(() => {
      waiting.delete(process);
      ready.delete(process);
    });
  };
  const fill = (): void => {
    while (!isClosed && waiting.size < size) add();
  };

  fill();
  return {
    take() {
      const first = [...ready].find((process) => waiting.has(process)) ?? [...waiting][0];
      if (first) waiting.delete(first);
      // The next one starts when this one is ready: side by side they would be in each other's way.
      const taken = first ?? start();
      taken.ready.then(fill, fill);
      return taken;
    },
    ready: () => [...waiting].filter((process) => ready.has(process)).length,
    async close() {
      isClosed = true;
      const processes = [...waiting];
      for (const process of processes) process.kill();
      await Promise.all(processes.map(({ ended }) => ended));
    },
  };
}
