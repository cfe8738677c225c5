import { randomBytes } from 'node:crypto';
import { getBindMounts, getCgroupMb, getSandboxPaths, PROCESSES_MAX } from './sandbox.ts';
import type { HostPaths, Sandbox, SandboxLimits } from './sandbox.ts';
import { buildSandboxedCommand } from './sandboxed-command.ts';

interface ContainerEngine {
  readonly name: 'docker' | 'podman';
  readonly command: string;
  /** Variables of the service by which the command finds its daemon or its store. */
  readonly env: Readonly<Record<string, string>>;
  /** An image with a Node version at least as new as Parley's on its PATH. It is never pulled. */
  readonly image: string;
}

/** Finds the runtime of the image: the launcher has no PATH. */
const FIND_NODE = ['/usr/bin/env', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'node'];

/**
 * Chosen: processes and threads of all containers together, as they have one user; `--pids-limit` limits those of each
 * one. Stated because an engine otherwise raises this limit, which a service without CAP_SYS_RESOURCE may not.
 */
const USER_PROCESSES_MAX = 4_096;

/** Flags of podman that docker has no equivalent of: no writable folders in memory, no volumes that the image declares. */
const ENGINE_FLAGS = { podman: ['--read-only-tmpfs=false', '--image-volume', 'ignore'], docker: [] };

/** Creates a sandbox with an installed container engine. Its daemon, if it has one, is trusted. */
export const createContainerSandbox = (
  host: HostPaths,
  limits: SandboxLimits,
  { name, command, image, env }: ContainerEngine,
): Sandbox => ({
  name,
  level: 'strict',
  hasMemoryCgroup: true,
  launch(program) {
    const places = getSandboxPaths(host);
    const containerName = `parley-code-${process.pid}-${randomBytes(8).toString('hex')}`;
    const [entrypoint = '', ...args] = buildSandboxedCommand(host, FIND_NODE, program);
    const memory = `${getCgroupMb(limits, program)}m`;
    return {
      command,
      args: [
        ['run', '--rm', '--interactive', '--pull', 'never', '--name', containerName, '--log-driver', 'none', '--init'],
        ENGINE_FLAGS[name],
        ['--network', 'none', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
        ['--user', '65534:65534', '--workdir', '/', '--hostname', 'sandbox', '--ipc', 'none'],
        ['--memory', memory, '--memory-swap', memory, '--pids-limit', `${PROCESSES_MAX}`, '--cpus', '1'],
        ['--ulimit', `cpu=${limits.cpuSeconds}`, '--ulimit', 'fsize=0', '--ulimit', 'core=0', '--ulimit', 'nofile=64'],
        ['--ulimit', `nproc=${USER_PROCESSES_MAX}`, '--stop-signal', 'SIGKILL'],
        getBindMounts(host, program).flatMap(([from, to]) => [
          '--mount',
          `type=bind,"source=${from}",target=${to},readonly`,
        ]),
        ['--entrypoint', entrypoint, image, ...args],
      ].flat(),
      paths: places,
      env,
      container: { engine: command, name: containerName },
    };
  },
});
