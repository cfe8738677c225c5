/**
 * Milliseconds of processor time that this process has used since it began, without the calling thread's. It stands still
 * where the process is stopped, and goes slowly where the machine is busy with others: unlike the clock on the wall it
 * tells what work costs.
 */
export function otherThreadsCpuMs(): number {
  const all = process.cpuUsage();
  const own = process.threadCpuUsage();
  return (all.user + all.system - own.user - own.system) / 1_000;
}
