import { nodeArguments } from './node-arguments.ts';
import { rlimits } from './rlimits.ts';
import { bindings, innerPlaces, PROCESSES_MAX } from './sandbox.ts';
import type { HostPlaces, Sandbox, SandboxLimits } from './sandbox.ts';

interface BubblewrapTools {
  readonly bwrap: string;
  readonly prlimit: string;
}

const NODE = '/node';
const PRLIMIT = '/prlimit';

/**
 * By bubblewrap: a root of its own with nothing but the runtime, its libraries and our code, namespaces of its own of every
 * kind, no capabilities, no network.
 * @param librariesOf What a program is linked with.
 */
export function createBubblewrap(
  host: HostPlaces,
  limits: SandboxLimits,
  { bwrap, prlimit }: BubblewrapTools,
  librariesOf: (program: string) => readonly string[],
): Sandbox {
  const places = innerPlaces(host);
  const libraries = [...new Set([...librariesOf(host.node), ...librariesOf(prlimit)])];
  const seen = [[host.node, NODE], [prlimit, PRLIMIT], ...libraries.map((path) => [path, path]), ...bindings(host)];
  return {
    name: 'bubblewrap',
    level: 'strict',
    launch: (program) => ({
      command: bwrap,
      args: [
        ['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent', '--new-session', '--clearenv'],
        ['--uid', '65534', '--gid', '65534', '--hostname', 'sandbox', '--cap-drop', 'ALL'],
        seen.flatMap(([from, to]) => ['--ro-bind', from ?? '', to ?? '']),
        ['--remount-ro', '/', '--chdir', '/', '--'],
        // Within: outside, the number of processes would be that of all the user's.
        [PRLIMIT, ...rlimits(limits), `--nproc=${PROCESSES_MAX}`, '--'],
        [NODE, ...nodeArguments(places, program)],
      ].flat(),
      places,
      env: {},
    }),
  };
}
