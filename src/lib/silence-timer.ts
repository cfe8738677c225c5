/** Reports that another process has been silent for too long. */
export interface SilenceTimer {
  start(): void;
  /** Records a sign of life. */
  reset(): void;
  stop(): void;
}

/** A silence counts when this many checks in a row see no sign. A single check can fail because this process paused. */
const SILENT_CHECKS_MAX = 6;

/** Creates a timer that calls `onSilent` after `msMax` without a sign of life, at every check until it is stopped. */
export function createSilenceTimer(msMax: number, onSilent: () => void): SilenceTimer {
  let checks: NodeJS.Timeout | undefined;
  let silentChecks = 0;
  return {
    start() {
      silentChecks = 0;
      checks = setInterval(() => {
        if (++silentChecks >= SILENT_CHECKS_MAX) onSilent();
      }, msMax / SILENT_CHECKS_MAX);
    },
    reset: () => void (silentChecks = 0),
    stop: () => clearInterval(checks),
  };
}
