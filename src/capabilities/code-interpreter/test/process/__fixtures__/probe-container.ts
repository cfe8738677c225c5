// Runs in a container in place of Parley's code, with all of Node and without the filter of system calls, as an attacker
// who has broken out of everything within it. Standard input is a command: `inspect` prints what it can see and write as
// JSON, `flood` prints a line without end, `wait` prints one line and runs until it is killed.
import { closeSync, existsSync, lstatSync, mkdirSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';

export interface ContainerFindings {
  /** Fields of /proc/self/status. */
  readonly status: Readonly<Record<string, string>>;
  readonly environment: readonly string[];
  readonly commands: readonly string[];
  /** Folders in which it made a folder, and files of the kernel that it opened for writing. */
  readonly writable: readonly string[];
  readonly sockets: readonly string[];
  readonly blockDevices: readonly string[];
  readonly interfaces: readonly string[];
  /** Contents of files behind links in the folder of wheels. */
  readonly linked: readonly string[];
  /** Changes of its own user and groups that succeeded. */
  readonly privileges: readonly string[];
}

/** Files of the kernel that lead out of containers when they can be written. */
const KERNEL_FILES = [
  '/proc/sys/kernel/core_pattern',
  '/proc/sysrq-trigger',
  '/sys/kernel/uevent_helper',
  '/sys/fs/cgroup/memory/memory.limit_in_bytes',
  '/sys/fs/cgroup/memory/release_agent',
  '/sys/fs/cgroup/cgroup.procs',
  '/dev/mem',
  '/dev/kmsg',
];

process.stdin.once('data', (data) => {
  const command = String(data);
  if (command.includes('inspect')) process.stdout.write(JSON.stringify(inspect()), () => process.exit(0));
  else if (command.includes('flood')) for (;;) writeSync(1, 'x'.repeat(10_000));
  else {
    writeSync(1, 'running\n');
    for (;;) if (Date.now() < 0) break;
  }
});

function inspect(): ContainerFindings {
  const found = { writable: [] as string[], sockets: [] as string[], blockDevices: [] as string[] };
  walk('/', found);
  const status = [...readFileSync('/proc/self/status', 'utf8').matchAll(/^(\w+):\s*(.*)$/gm)];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const links = attempt(() => readdirSync('/app/wheels')) ?? [];
  return {
    status: Object.fromEntries(status.map(([, name = '', value = '']) => [name, value])),
    environment: Object.keys(process.env),
    commands: pids.flatMap((pid) => attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? []),
    ...found,
    writable: [...found.writable, ...KERNEL_FILES.filter((path) => attempt(() => closeSync(openSync(path, 'r+'))) !== null)],
    interfaces: Object.keys(networkInterfaces()),
    linked: links.flatMap((name) => attempt(() => readFileSync(join('/app/wheels', name), 'utf8')) ?? []),
    privileges: [
      ['setuid', () => process.setuid?.(0)],
      ['setgid', () => process.setgid?.(0)],
      ['setgroups', () => process.setgroups?.([0])],
    ].flatMap(([name, change]) => (attempt(change as () => unknown) === null ? [] : [name as string])),
  };
}

/** Returns null if the work fails. */
function attempt<Result>(work: () => Result): Result | null {
  try {
    return work();
  } catch {
    return null;
  }
}

function walk(folder: string, found: { writable: string[]; sockets: string[]; blockDevices: string[] }): void {
  if (attempt(() => mkdirSync(join(folder, 'attack'))) !== null) found.writable.push(folder);
  for (const name of attempt(() => readdirSync(folder)) ?? []) {
    const path = join(folder, name);
    const status = attempt(() => lstatSync(path));
    if (status?.isSocket()) found.sockets.push(path);
    else if (status?.isBlockDevice()) found.blockDevices.push(path);
    // The kernel's own folders are large; KERNEL_FILES are those that matter.
    else if (status?.isDirectory() && !['/proc', '/sys'].includes(path) && existsSync(path)) walk(path, found);
  }
}
