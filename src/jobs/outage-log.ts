import type { Log } from '../core/telemetry.ts';

/** Logs the start and the end of a store outage, instead of each failed poll. */
export interface OutageLog {
  reportFailure(error: unknown): void;
  reportSuccess(): void;
}

/** Polls fail about every second during an outage: only the first failure and the first success are logged. */
export function createOutageLog(log: Pick<Log, 'info' | 'error'>): OutageLog {
  let isOutage = false;
  return {
    reportFailure(error) {
      if (!isOutage) log.error('job store unavailable', { error });
      isOutage = true;
    },
    reportSuccess() {
      if (isOutage) log.info('job store available again');
      isOutage = false;
    },
  };
}
