import type { Log } from '../../core/telemetry.ts';
import type { ProgramProcess } from './program-process.ts';

/** Processes started in advance. */
export interface WarmPool {
  /** Returns a process that is ready or starting. */
  take(): ProgramProcess;
  /** Returns the number of ready processes. */
  countReady(): number;
  close(): Promise<void>;
}

interface WarmPoolOptions {
  readonly start: () => ProgramProcess;
  readonly size: number;
  readonly log: Log;
}

export function createWarmPool({ start, size, log }: WarmPoolOptions): WarmPool {
  const processes = new Set<ProgramProcess>();
  const readyProcesses = new Set<ProgramProcess>();
  let isClosed = false;

  const add = (): void => {
    const process = start();
    processes.add(process);
    process.ready.then(
      () => readyProcesses.add(process),
      (error: unknown) => {
        if (!isClosed) log.error('code interpreter process failed to start', { error });
      },
    );
    // Not replaced before the next `take`: a process that ends by itself would do so again.
    void process.termination.then(() => {
      processes.delete(process);
      readyProcesses.delete(process);
    });
  };
  const fill = (): void => {
    while (!isClosed && processes.size < size) add();
  };
  /** A start that fails in the background must not end the service: the next program that needs one reports it. */
  const refill = (): void => {
    try {
      fill();
    } catch {
      return;
    }
  };

  fill();
  return {
    take() {
      const first = [...readyProcesses].find((process) => processes.has(process)) ?? [...processes][0];
      if (first) processes.delete(first);
      // Starts the next process only when this one is ready, because parallel starts slow each other down.
      const process = first ?? start();
      process.ready.then(refill, refill);
      return process;
    },
    countReady: () => [...processes].filter((process) => readyProcesses.has(process)).length,
    async close() {
      isClosed = true;
      const closing = [...processes];
      for (const process of closing) process.kill();
      await Promise.all(closing.map(({ termination }) => termination));
    },
  };
}
