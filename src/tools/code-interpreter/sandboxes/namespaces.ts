import { randomInt } from 'node:crypto';
import { nodeArguments } from './node-arguments.ts';
import { rlimits } from './rlimits.ts';
import { bindings, innerPlaces, PROCESSES_MAX } from './sandbox.ts';
import type { HostPlaces, Sandbox, SandboxLimits } from './sandbox.ts';

/** Programs of a plain Linux, by their paths. */
export const NAMESPACE_TOOLS = ['sh', 'unshare', 'setpriv', 'prlimit', 'mount', 'mkdir', 'chroot', 'env'] as const;

type NamespaceTools = Readonly<Record<(typeof NAMESPACE_TOOLS)[number], string>>;

/** Users that no machine has: a process that runs as one of them is nobody else's. */
const UID_MIN = 1_000_000_000;
const UID_MAX = 2_000_000_000;

const NODE = '/node';

/**
 * Builds the root, within namespaces of its own: an empty file system in memory, on which files and folders are put that can
 * be read only. Arguments: the place, the programs mount and mkdir, pairs of from and to, `--`, what runs then.
 *
 * It stays and waits: it is the first process of its namespace, and dies with whoever made that. The process that it starts would
 * not, as the kernel forgets that wish where a process takes another user; with the first one all others are ended.
 */
const BUILD_ROOT = `set -eu
root=$1 mount=$2 mkdir=$3
shift 3
"$mount" -t tmpfs -o size=1m,mode=755,nosuid,nodev none "$root"
while [ "$1" != -- ]; do
  from=$1 to=$root$2
  shift 2
  if [ -d "$from" ]; then "$mkdir" -p "$to"; else "$mkdir" -p "\${to%/*}"; : > "$to"; fi
  "$mount" --bind "$from" "$to"
  "$mount" -o remount,bind,ro,nosuid,nodev "$to"
done
shift
"$mount" -o remount,bind,ro,nosuid,nodev "$root"
"$@" || exit "$?"`;

/**
 * By what every Linux has (util-linux): namespaces for mounts, processes, network, IPC and names, a root with nothing but the
 * runtime, its libraries and our code. There is no /proc and no /dev in it.
 *
 * A service that runs as root gives the process a user of its own on this machine. Any other one has two user namespaces made: in
 * the outer one the root is built, the inner one has no power over it.
 */
export function createNamespaces(
  host: HostPlaces,
  limits: SandboxLimits,
  tools: NamespaceTools,
  { libraries, isRoot }: { readonly libraries: readonly string[]; readonly isRoot: boolean },
): Sandbox {
  const places = innerPlaces(host);
  const root = host.emptyFolder;
  const seen = [[host.node, NODE] as const, ...libraries.map((path) => [path, path] as const), ...bindings(host)];
  const bounded = [tools.prlimit, ...rlimits(limits), `--nproc=${PROCESSES_MAX}`, '--'];
  const enter = (): readonly string[] => {
    if (!isRoot) {
      const user = ['--user', '--map-user=65534', '--map-group=65534'];
      return [tools.setpriv, '--no-new-privs', '--', tools.unshare, ...user, `--root=${root}`, '--wd=/', '--'];
    }
    const user = randomInt(UID_MIN, UID_MAX);
    const powers = ['--no-new-privs', '--inh-caps=-all', '--bounding-set=-all,+sys_chroot,+setuid,+setgid', '--'];
    return [tools.setpriv, ...powers, tools.chroot, `--userspec=${user}:${user}`, '--groups=', root];
  };
  return {
    name: 'namespaces',
    level: 'strict',
    launch: (program) => ({
      command: tools.setpriv,
      args: [
        ['--pdeathsig', 'KILL', '--', tools.unshare, ...(isRoot ? [] : ['--user', '--map-root-user'])],
        ['--mount', '--net', '--pid', '--ipc', '--uts', '--fork', '--kill-child', '--propagation', 'private', '--'],
        [tools.sh, '-c', BUILD_ROOT, 'sh', root, tools.mount, tools.mkdir],
        [...seen.flat(), '--', ...bounded, tools.env, '-i', ...enter()],
        [NODE, ...nodeArguments(places, program)],
      ].flat(),
      places,
      env: {},
    }),
  };
}
