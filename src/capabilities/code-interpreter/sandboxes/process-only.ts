import { buildNodeArguments } from './node-arguments.ts';
import { buildPrlimitArguments } from './rlimits.ts';
import type { HostPaths, Sandbox, SandboxLimits } from './sandbox.ts';

interface ProcessTools {
  readonly prlimit: string;
  readonly setpriv: string;
}

/**
 * Creates a process without a sandbox of the system: only the realm, Node's permissions and resource limits. A program
 * that escapes from Python's realm by a bug of the runtime can use the network by system calls, as the service's user.
 */
export const createProcessSandbox = (host: HostPaths, limits: SandboxLimits, tools: ProcessTools): Sandbox => ({
  name: 'process',
  level: 'basic',
  launch: (program) => ({
    command: tools.setpriv,
    args: [
      ['--pdeathsig', 'KILL', '--no-new-privs', '--'],
      [tools.prlimit, ...buildPrlimitArguments(limits), '--'],
      [host.node, ...buildNodeArguments(host, program)],
    ].flat(),
    paths: host,
    env: {},
  }),
});
