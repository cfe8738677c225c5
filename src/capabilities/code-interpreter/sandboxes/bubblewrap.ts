import { buildSandboxedCommand } from './sandboxed-command.ts';
import { buildPrlimitArguments } from './rlimits.ts';
import { getBindMounts, getSandboxPaths, PROCESSES_MAX } from './sandbox.ts';
import type { HostPaths, Sandbox, SandboxLimits } from './sandbox.ts';

interface BubblewrapTools {
  readonly bwrap: string;
  readonly prlimit: string;
}

const NODE_PATH = '/node';
const PRLIMIT_PATH = '/prlimit';

/**
 * Creates a sandbox with bubblewrap: a root that contains only the runtime, its libraries and Parley's code, all kinds
 * of namespaces, no capabilities, no network.
 * @param findLibraries Returns the libraries that a program is linked with.
 */
export function createBubblewrapSandbox(
  host: HostPaths,
  limits: SandboxLimits,
  { bwrap, prlimit }: BubblewrapTools,
  findLibraries: (program: string) => readonly string[],
): Sandbox {
  const paths = getSandboxPaths(host);
  const libraries = [...new Set([...findLibraries(host.node), ...findLibraries(prlimit)])];
  const systemMounts = [[host.node, NODE_PATH], [prlimit, PRLIMIT_PATH], ...libraries.map((path) => [path, path])];
  return {
    name: 'bubblewrap',
    level: 'strict',
    hasMemoryCgroup: false,
    launch: (program) => ({
      command: bwrap,
      args: [
        ['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent', '--new-session', '--clearenv'],
        ['--uid', '65534', '--gid', '65534', '--hostname', 'sandbox', '--cap-drop', 'ALL'],
        [...systemMounts, ...getBindMounts(host, program)].flatMap(([from, to]) => ['--ro-bind', from ?? '', to ?? '']),
        ['--remount-ro', '/', '--chdir', '/', '--'],
        // Set within the sandbox: outside, the limit would count all processes of the user.
        [PRLIMIT_PATH, ...buildPrlimitArguments(limits), `--nproc=${PROCESSES_MAX}`, '--'],
        buildSandboxedCommand(host, [NODE_PATH], program),
      ].flat(),
      paths,
      env: {},
    }),
  };
}
