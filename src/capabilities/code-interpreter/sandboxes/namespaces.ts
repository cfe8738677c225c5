import { randomInt } from 'node:crypto';
import { UID_MAX, UID_MIN } from './can-assign-users.ts';
import { buildPrlimitArguments } from './rlimits.ts';
import { getBindMounts, getSandboxPaths, PROCESSES_MAX } from './sandbox.ts';
import type { HostPaths, Sandbox, SandboxLimits } from './sandbox.ts';
import { buildSandboxedCommand } from './sandboxed-command.ts';

/** Programs of a standard Linux installation. */
export const NAMESPACE_TOOLS = ['sh', 'unshare', 'setpriv', 'prlimit', 'mount', 'mkdir', 'chroot', 'env'] as const;

type NamespaceTools = Readonly<Record<(typeof NAMESPACE_TOOLS)[number], string>>;

const NODE_PATH = '/node';

/**
 * Shell script that builds the root within its own namespaces: an empty file system in memory with read-only bind
 * mounts. Arguments: the root folder, the programs mount and mkdir, pairs of source and target paths, `--`, the command
 * to run. The shell waits for the command: as the first process of the namespace it ends all others with itself, and it
 * keeps the parent-death signal, which a process that changes its user loses.
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
code=0
"$@" || code=$?
exit "$code"`;

/**
 * Creates a sandbox with util-linux, which every Linux has: mount, process, network, IPC and UTS namespaces, and a root
 * that contains only the runtime, its libraries and Parley's code, without /proc and /dev.
 *
 * @param isRoot Whether the service may assign users (`canAssignUsers`): each process then gets a user id of its own.
 *   Otherwise there are two user namespaces: the outer one builds the root, the inner one has no privileges over it.
 */
export function createNamespaceSandbox(
  host: HostPaths,
  limits: SandboxLimits,
  tools: NamespaceTools,
  { libraries, isRoot }: { readonly libraries: readonly string[]; readonly isRoot: boolean },
): Sandbox {
  const places = getSandboxPaths(host);
  const root = host.emptyFolder;
  const systemMounts = [[host.node, NODE_PATH] as const, ...libraries.map((path) => [path, path] as const)];
  const limitCommand = [tools.prlimit, ...buildPrlimitArguments(limits), `--nproc=${PROCESSES_MAX}`, '--'];
  const buildEnterCommand = (): readonly string[] => {
    if (!isRoot) {
      const user = ['--user', '--map-user=65534', '--map-group=65534'];
      return [tools.setpriv, '--no-new-privs', '--', tools.unshare, ...user, `--root=${root}`, '--wd=/', '--'];
    }
    const user = randomInt(UID_MIN, UID_MAX);
    const privileges = ['--no-new-privs', '--inh-caps=-all', '--bounding-set=-all,+sys_chroot,+setuid,+setgid', '--'];
    return [tools.setpriv, ...privileges, tools.chroot, `--userspec=${user}:${user}`, '--groups=', root];
  };
  return {
    name: 'namespaces',
    level: 'strict',
    hasMemoryCgroup: false,
    launch: (program) => ({
      command: tools.setpriv,
      args: [
        ['--pdeathsig', 'KILL', '--', tools.unshare, ...(isRoot ? [] : ['--user', '--map-root-user'])],
        ['--mount', '--net', '--pid', '--ipc', '--uts', '--fork', '--kill-child', '--propagation', 'private', '--'],
        [tools.sh, '-c', BUILD_ROOT, 'sh', root, tools.mount, tools.mkdir],
        [
          ...[...systemMounts, ...getBindMounts(host, program)].flat(),
          '--',
          ...limitCommand,
          tools.env,
          '-i',
          ...buildEnterCommand(),
        ],
        buildSandboxedCommand(host, [NODE_PATH], program),
      ].flat(),
      paths: places,
      env: {},
    }),
  };
}
