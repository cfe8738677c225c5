export interface ResourceUsageLimits {
  /** Returns the limit of CPU time in ms, of all threads since the start of the watch. Called at each check. */
  readonly msMax: () => number;
  /** Limit of the resident memory of the process, in bytes. */
  readonly residentBytesMax: number;
  /** Called at each check from the first excess on. */
  readonly onExceeded: (limit: 'time' | 'memory') => void;
}

/** Time between checks, in ms. Parley's choice. */
const POLL_INTERVAL_MS = 25;

/**
 * Checks the resource usage of this process from its main thread while another thread works. This also detects large
 * buffers and endless loops. A memory limit of the operating system does not help, because the runtime reserves
 * hundreds of gigabytes of address space.
 * @returns a function that stops the watch.
 */
export function watchResourceUsage({ msMax, residentBytesMax, onExceeded }: ResourceUsageLimits): () => void {
  const before = process.cpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(before);
    if ((user + system) / 1000 > msMax()) onExceeded('time');
    if (process.memoryUsage.rss() > residentBytesMax) onExceeded('memory');
  }, POLL_INTERVAL_MS);
  return () => clearInterval(timer);
}
