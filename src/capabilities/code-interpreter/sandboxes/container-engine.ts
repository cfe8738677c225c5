import { randomBytes } from 'node:crypto';
import { buildNodeArguments } from './node-arguments.ts';
import { getBindMounts, getSandboxPaths, PROCESS_OVERHEAD_MB, PROCESSES_MAX } from './sandbox.ts';
import type { HostPaths, Sandbox, SandboxLimits } from './sandbox.ts';

interface ContainerEngine {
  readonly name: 'docker' | 'podman';
  readonly command: string;
  /** Variables of the service by which the command finds its daemon or its store. */
  readonly env: Readonly<Record<string, string>>;
  /** An image with a Node version at least as new as Parley's on its PATH. It is never pulled. */
  readonly image: string;
}

/** Creates a sandbox with an installed container engine. Its daemon, if it has one, is trusted. */
export const createContainerSandbox = (
  host: HostPaths,
  { memoryMb, cpuSeconds }: SandboxLimits,
  { name, command, image, env }: ContainerEngine,
): Sandbox => ({
  name,
  level: 'strict',
  launch(program) {
    const places = getSandboxPaths(host);
    const containerName = `parley-code-${randomBytes(8).toString('hex')}`;
    const memory = `${memoryMb + PROCESS_OVERHEAD_MB}m`;
    return {
      command,
      args: [
        ['run', '--rm', '--interactive', '--pull', 'never', '--name', containerName, '--log-driver', 'none', '--init'],
        ['--network', 'none', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
        ['--user', '65534:65534', '--workdir', '/', '--hostname', 'sandbox', '--ipc', 'none'],
        ['--memory', memory, '--memory-swap', memory, '--pids-limit', `${PROCESSES_MAX}`, '--cpus', '1'],
        ['--ulimit', `cpu=${cpuSeconds}`, '--ulimit', 'fsize=0', '--ulimit', 'core=0', '--ulimit', 'nofile=64'],
        getBindMounts(host).flatMap(([from, to]) => ['--mount', `type=bind,"source=${from}",target=${to},readonly`]),
        ['--entrypoint', 'node', image, ...buildNodeArguments(places, program)],
      ].flat(),
      paths: places,
      env,
      // Killing the command only disconnects from the container.
      killCommand: { command, args: ['kill', containerName] },
    };
  },
});
