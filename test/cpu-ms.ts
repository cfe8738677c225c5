/**
 * Milliseconds of processor time that work takes in this thread. What others do on the machine does not count, nor that it
 * stood still for a while.
 */
export function cpuMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
