import { readdirSync, readFileSync } from 'node:fs';

export interface Usage {
  /** Microseconds on a processor, user and system, of all threads that still run. */
  readonly cpuMicros: number;
  /** Resident memory; pages that processes of the tree share count for each. */
  readonly rssBytes: number;
}

const KIB = 1024;

/** What a process and all that descend from it use, as Linux tells it. @throws Error on a system that does not tell. */
export function usageOf(pid: number): Usage {
  const children = new Map<number, number[]>();
  for (const name of numbersIn('/proc')) {
    const parent = parentOf(name);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const tree = [pid];
  for (const each of tree) tree.push(...(children.get(each) ?? []));
  const usage = {
    cpuMicros: tree.reduce((sum, each) => sum + cpuOf(each), 0),
    rssBytes: tree.reduce((sum, each) => sum + rssOf(each), 0),
  };
  if (usage.cpuMicros === 0) throw new Error(`there is no /proc/${pid}/task/*/schedstat: these benches need Linux`);
  return usage;
}

/** Counted in ns: the better known /proc/PID/stat counts in steps of 10 ms, too coarse for a window of a second. */
const cpuOf = (pid: number): number =>
  numbersIn(`/proc/${pid}/task`).reduce(
    (sum, thread) => sum + Number(readText(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]) / 1000,
    0,
  );

const rssOf = (pid: number): number => Number(/^VmRSS:\s+(\d+)/m.exec(readText(`/proc/${pid}/status`))?.[1] ?? 0) * KIB;

function parentOf(pid: string): number {
  const text = readText(`/proc/${pid}/stat`);
  // The second field is the program's name, which may hold spaces and brackets.
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
}

function numbersIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/** Empty when the process has just ended. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
