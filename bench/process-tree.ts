import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessTreeUsage {
  /** CPU time of all threads that still run, user and system, in microseconds. */
  readonly cpuMicros: number;
  /** Resident memory in bytes; pages that processes share count for each process. */
  readonly rssBytes: number;
}

const KIB = 1024;

/** Reads the usage of a process and its descendants from /proc. @throws Error on systems other than Linux. */
export function readProcessTreeUsage(pid: number): ProcessTreeUsage {
  const children = new Map<number, number[]>();
  for (const name of listNumericNames('/proc')) {
    const parent = readParentPid(name);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const tree = [pid];
  for (const each of tree) tree.push(...(children.get(each) ?? []));
  const usage = {
    cpuMicros: tree.reduce((sum, each) => sum + readCpuMicros(each), 0),
    rssBytes: tree.reduce((sum, each) => sum + readRssBytes(each), 0),
  };
  if (usage.cpuMicros === 0) throw new Error(`cannot read /proc/${pid}/task/*/schedstat: this benchmark needs Linux`);
  return usage;
}

/** Reads nanoseconds, because /proc/PID/stat counts in steps of 10 ms, too coarse for a window of one second. */
const readCpuMicros = (pid: number): number =>
  listNumericNames(`/proc/${pid}/task`).reduce(
    (sum, thread) => sum + Number(readText(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]) / 1000,
    0,
  );

const readRssBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readText(`/proc/${pid}/status`))?.[1] ?? 0) * KIB;

function readParentPid(pid: string): number {
  const text = readText(`/proc/${pid}/stat`);
  // The second field is the program's name, which may contain spaces and parentheses.
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
}

function listNumericNames(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/** Returns an empty text when the process has just exited. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
