import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Delays of the event loop in seconds: how late timers ran. */
export interface EventLoopDelays {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface EventLoopMonitor {
  /** Returns the delays of the last one to two windows. */
  read(): EventLoopDelays;
  close(): Promise<void>;
}

/** Interval of the measurement in ms. Shorter ones would cost more and find nothing that a caller notices. */
const RESOLUTION_MS = 20;

/** Longest time between two scrapes that Prometheus recommends: no peak is lost between them. */
const WINDOW_MS = 60_000;

const NONE: EventLoopDelays = { p50: 0, p99: 0, max: 0 };

/** Measures the delays of this process's event loop until it is closed. */
export function startEventLoopMonitor(now: () => number = () => performance.now()): EventLoopMonitor {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  let previous = NONE;
  let startedAt = now();
  const readWindow = (): EventLoopDelays => {
    if (histogram.count === 0) return NONE;
    // The histogram measures the whole interval; the delay is what exceeds it.
    const toSeconds = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1000);
    return {
      p50: toSeconds(histogram.percentile(50)),
      p99: toSeconds(histogram.percentile(99)),
      max: toSeconds(histogram.max),
    };
  };
  return {
    read() {
      const current = readWindow();
      const delays = {
        p50: Math.max(previous.p50, current.p50),
        p99: Math.max(previous.p99, current.p99),
        max: Math.max(previous.max, current.max),
      };
      if (now() - startedAt >= WINDOW_MS) {
        previous = current;
        histogram.reset();
        startedAt = now();
      }
      return delays;
    },
    async close() {
      histogram.disable();
    },
  };
}
