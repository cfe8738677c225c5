import type { Log } from '../core/telemetry.ts';

export interface Trouble {
  begin(error: unknown): void;
  end(): void;
}

/** Tells once that the store fails and once that it works again: it is asked every second meanwhile. */
export function createTrouble(log: Pick<Log, 'info' | 'error'>): Trouble {
  let isThere = false;
  return {
    begin(error) {
      if (!isThere) log.error('jobs cannot be read or written for now', { error });
      isThere = true;
    },
    end() {
      if (isThere) log.info('jobs can be read and written again');
      isThere = false;
    },
  };
}
