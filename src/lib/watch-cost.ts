export interface CostLimits {
  /** Of the processor, by all threads since the watch began; asked for at each look. */
  readonly msMax: () => number;
  readonly residentBytesMax: number;
  /** Called at each look from then on. */
  readonly onOver: (limit: 'time' | 'memory') => void;
}

/** Ours: ms between looks. */
const LOOK_MS = 25;

/**
 * Looks at what this process uses, from its main thread while another one works: what grows in buffers or hangs in a loop is
 * seen all the same. A limit of the system on memory is of no use: the runtime reserves hundreds of gigabytes of addresses.
 * @returns what ends the watch.
 */
export function watchCost({ msMax, residentBytesMax, onOver }: CostLimits): () => void {
  const before = process.cpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(before);
    if ((user + system) / 1000 > msMax()) onOver('time');
    if (process.memoryUsage.rss() > residentBytesMax) onOver('memory');
  }, LOOK_MS);
  return () => clearInterval(timer);
}
