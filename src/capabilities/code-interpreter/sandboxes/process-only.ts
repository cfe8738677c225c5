import { buildNodeArguments } from './sandboxed-command.ts';
import { buildPrlimitArguments } from './rlimits.ts';
import type { HostPaths, Sandbox, SandboxLimits } from './sandbox.ts';

interface ProcessTools {
  readonly prlimit: string;
  readonly setpriv: string;
}

/**
 * Creates a process without a sandbox of the system: only the realm, Node's permissions and resource limits. A program
 * that escapes from Python's realm by a bug of the runtime runs as the service's user; only the filter of system calls
 * restricts it.
 */
export const createProcessSandbox = (host: HostPaths, limits: SandboxLimits, tools: ProcessTools): Sandbox => ({
  name: 'process',
  level: 'basic',
  hasMemoryCgroup: false,
  launch: (program) => ({
    command: tools.setpriv,
    args: [
      ['--pdeathsig', 'KILL', '--no-new-privs', '--'],
      [tools.prlimit, ...buildPrlimitArguments(limits), '--'],
      host.native ? [program.usesFilter ? host.native.launcher : host.native.unfilteredLauncher] : [],
      program.name === 'native-attacks'
        ? [host.native?.attacks ?? '']
        : [host.node, ...buildNodeArguments(host, program)],
    ].flat(),
    paths: host,
    env: {},
  }),
});
