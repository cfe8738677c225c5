import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isProcessRunning } from '../../../lib/is-process-running.ts';
import { getCgroupMb, PROCESSES_MAX } from './sandbox.ts';
import type { Sandbox, SandboxLimits } from './sandbox.ts';

/** A control group in which Parley may create one for each process. */
export interface CgroupParent {
  readonly folder: string;
  readonly version: 1 | 2;
}

/** Files of the system that the search reads. Tests pass others. */
export interface CgroupFiles {
  /** Default: /proc/self/cgroup. */
  readonly membership: string;
  /** The folder on which cgroups are mounted. Default: /sys/fs/cgroup. */
  readonly mount: string;
  /** Whether a process can be moved into a cgroup. Default: tries it. */
  readonly canEnter: (folder: string) => boolean;
  readonly remove: (folder: string) => void;
}

const LOCAL_FILES: CgroupFiles = {
  membership: '/proc/self/cgroup',
  mount: '/sys/fs/cgroup',
  canEnter: tryToEnter,
  remove: removeCgroup,
};

/** Prefix of the names of Parley's cgroups; the process id of the service and a random number follow. */
const NAME_PREFIX = 'parley-code-';

/** Chosen: processes of the sandbox itself, besides those of the program: shells and `unshare`, or bubblewrap. */
const LAUNCH_PROCESSES = 8;

/** Chosen: attempts to remove a cgroup, and ms between them: the system may still be ending its processes. */
const REMOVALS_MAX = 20;
const REMOVAL_PAUSE_MS = 50;

/** Advice for a service that may not create a memory cgroup. */
const ADVICE =
  'with systemd, set Delegate=yes and DelegateSubgroup=main in the unit of the service; ' +
  'in a container, mount the cgroup file system writable';

/**
 * Finds a cgroup that bounds memory and in which this process may create others: of version 2 the closest one above its
 * own (a cgroup with processes has no memory limits below it), of version 1 its own. Removes cgroups that a killed
 * service has left there.
 * @returns the reason if there is none.
 */
export function findCgroupParent(files: CgroupFiles = LOCAL_FILES): CgroupParent | string {
  const membership = readText(files.membership);
  const isVersion2 = readText(join(files.mount, 'cgroup.controllers')).split(/\s+/).includes('memory');
  const path = (isVersion2 ? /^0::(\/.*)$/m : /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(\/.*)$/m).exec(membership)?.[1];
  if (path === undefined) return 'this system has no memory cgroups';
  const root = isVersion2 ? files.mount : join(files.mount, 'memory');
  for (const candidate of listCandidates(root, join(root, path), isVersion2)) {
    const parent: CgroupParent = { folder: candidate, version: isVersion2 ? 2 : 1 };
    if (isUsable(parent, files)) {
      removeAbandoned(candidate);
      return parent;
    }
  }
  return `the service may not create a memory cgroup: ${ADVICE}`;
}

function listCandidates(root: string, own: string, isVersion2: boolean): readonly string[] {
  // In a container, the path may be the one of the host.
  if (!existsSync(own)) return [root];
  if (!isVersion2) return [own];
  const folders: string[] = [];
  for (let folder = own; folder.startsWith(root); folder = dirname(folder)) folders.push(folder);
  // Only the root of the hierarchy can have both processes and limits below it.
  return own === root ? folders : folders.slice(1);
}

function isUsable({ folder, version }: CgroupParent, { canEnter, remove }: CgroupFiles): boolean {
  const probe = join(folder, `${NAME_PREFIX}${process.pid}-probe`);
  try {
    if (version === 2) {
      accessSync(join(folder, 'cgroup.procs'), constants.W_OK);
      const controllers = join(folder, 'cgroup.subtree_control');
      // Allowed where the service manager has delegated the cgroup and put the service into one below it.
      if (!readText(controllers).split(/\s+/).includes('memory')) writeFileSync(controllers, '+memory');
    }
    mkdirSync(probe);
  } catch {
    return false;
  }
  try {
    for (const [name, value] of listSettings(version, 2 ** 30).required) writeFileSync(join(probe, name), value);
    return canEnter(probe);
  } catch {
    return false;
  } finally {
    remove(probe);
  }
}

function tryToEnter(folder: string): boolean {
  return spawnSync('/bin/sh', ['-c', ENTER, join(folder, 'cgroup.procs'), 'true'], { env: {} }).status === 0;
}

/** Shell script that moves itself into a cgroup, given by its file `cgroup.procs`, and executes its other arguments. */
const ENTER = 'echo 0 > "$0" && exec "$@"';

/** Returns the files of a cgroup that limit it, with their content. The optional ones do not exist everywhere. */
function listSettings(version: 1 | 2, bytes: number) {
  return version === 2
    ? ({
        required: [['memory.max', `${bytes}`]],
        optional: [
          ['memory.swap.max', '0'],
          ['memory.oom.group', '1'],
          ['pids.max', `${PROCESSES_MAX + LAUNCH_PROCESSES}`],
        ],
      } as const)
    : ({
        required: [['memory.limit_in_bytes', `${bytes}`]],
        optional: [['memory.memsw.limit_in_bytes', `${bytes}`]],
      } as const);
}

/**
 * Adds a memory cgroup to each launch of a sandbox. It counts all memory of all processes, shared memory and memory of
 * the kernel included; beyond the limit, the system kills them.
 */
export function addMemoryCgroup(sandbox: Sandbox, { folder, version }: CgroupParent, limits: SandboxLimits): Sandbox {
  return {
    ...sandbox,
    hasMemoryCgroup: true,
    launch(program) {
      const launch = sandbox.launch(program);
      const cgroup = join(folder, `${NAME_PREFIX}${process.pid}-${randomBytes(6).toString('hex')}`);
      mkdirSync(cgroup);
      const { required, optional } = listSettings(version, getCgroupMb(limits, program) * 2 ** 20);
      try {
        for (const [name, value] of required) writeFileSync(join(cgroup, name), value);
      } catch (error) {
        removeCgroup(cgroup);
        throw error;
      }
      for (const [name, value] of optional) {
        try {
          writeFileSync(join(cgroup, name), value);
        } catch {
          continue;
        }
      }
      return {
        ...launch,
        command: '/bin/sh',
        args: ['-c', ENTER, join(cgroup, 'cgroup.procs'), launch.command, ...launch.args],
        release: () => removeCgroup(cgroup),
      };
    },
  };
}

/** Removes a cgroup, as soon as no process is in it. */
function removeCgroup(folder: string, attempts = REMOVALS_MAX): void {
  try {
    rmdirSync(folder);
  } catch {
    if (attempts > 1 && existsSync(folder)) setTimeout(removeCgroup, REMOVAL_PAUSE_MS, folder, attempts - 1);
  }
}

/** Removes the cgroups of services that do not run any longer. */
function removeAbandoned(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = new RegExp(`^${NAME_PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid !== undefined && !isProcessRunning(Number(pid))) removeCgroup(join(folder, name), 1);
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
