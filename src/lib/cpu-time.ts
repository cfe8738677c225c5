/**
 * Returns the CPU time in ms that all other threads of this process have used since its start. Unlike wall-clock time,
 * it does not grow while the process is suspended and grows slowly on a busy machine, so it measures the cost of the
 * work.
 */
export function getOtherThreadsCpuMs(): number {
  const all = process.cpuUsage();
  const current = process.threadCpuUsage();
  return (all.user + all.system - current.user - current.system) / 1_000;
}
