import { nodeArguments } from './node-arguments.ts';
import { rlimits } from './rlimits.ts';
import type { HostPlaces, Sandbox, SandboxLimits } from './sandbox.ts';

interface ProcessTools {
  readonly prlimit: string;
  readonly setpriv: string;
}

/**
 * No sandbox of the system's: the realm, the runtime's permissions and limits. Whoever breaks out of Python's realm by a fault of
 * the runtime finds a process that may use the network by calls of the system, and is the service's user.
 */
export const createProcessOnly = (host: HostPlaces, limits: SandboxLimits, tools: ProcessTools): Sandbox => ({
  name: 'process',
  level: 'basic',
  launch: (program) => ({
    command: tools.setpriv,
    args: [
      ['--pdeathsig', 'KILL', '--no-new-privs', '--'],
      [tools.prlimit, ...rlimits(limits), '--'],
      [host.node, ...nodeArguments(host, program)],
    ].flat(),
    places: host,
    env: {},
  }),
});
