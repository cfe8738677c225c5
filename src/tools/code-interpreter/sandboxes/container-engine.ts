import { randomBytes } from 'node:crypto';
import { nodeArguments } from './node-arguments.ts';
import { bindings, innerPlaces, PROCESS_MB, PROCESSES_MAX } from './sandbox.ts';
import type { HostPlaces, Sandbox, SandboxLimits } from './sandbox.ts';

interface ContainerEngine {
  readonly name: 'docker' | 'podman';
  readonly command: string;
  /** What it needs of ours to find its daemon or its store. */
  readonly env: Readonly<Record<string, string>>;
  /** One that has a Node as new as ours on its PATH. It is never fetched. */
  readonly image: string;
}

/** By a container engine that is installed. Its daemon, where it has one, is part of what is trusted. */
export const createContainerEngine = (
  host: HostPlaces,
  { memoryMb, cpuSeconds }: SandboxLimits,
  { name, command, image, env }: ContainerEngine,
): Sandbox => ({
  name,
  level: 'strict',
  launch(program) {
    const places = innerPlaces(host);
    const called = `parley-code-${randomBytes(8).toString('hex')}`;
    const memory = `${memoryMb + PROCESS_MB}m`;
    return {
      command,
      args: [
        ['run', '--rm', '--interactive', '--pull', 'never', '--name', called, '--log-driver', 'none', '--init'],
        ['--network', 'none', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
        ['--user', '65534:65534', '--workdir', '/', '--hostname', 'sandbox', '--ipc', 'none'],
        ['--memory', memory, '--memory-swap', memory, '--pids-limit', `${PROCESSES_MAX}`, '--cpus', '1'],
        ['--ulimit', `cpu=${cpuSeconds}`, '--ulimit', 'fsize=0', '--ulimit', 'core=0', '--ulimit', 'nofile=64'],
        bindings(host).flatMap(([from, to]) => ['--mount', `type=bind,"source=${from}",target=${to},readonly`]),
        ['--entrypoint', 'node', image, ...nodeArguments(places, program)],
      ].flat(),
      places,
      env,
      // Killing the command only closes the line to the container.
      end: { command, args: ['kill', called] },
    };
  },
});
