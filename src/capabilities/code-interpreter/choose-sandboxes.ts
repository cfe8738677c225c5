import { platform } from 'node:os';
import { canAssignUsers } from './sandboxes/can-assign-users.ts';
import { createBubblewrapSandbox } from './sandboxes/bubblewrap.ts';
import { createContainerSandbox } from './sandboxes/container-engine.ts';
import { addMemoryCgroup, findCgroupParent } from './sandboxes/memory-cgroup.ts';
import type { CgroupParent } from './sandboxes/memory-cgroup.ts';
import { createNamespaceSandbox, NAMESPACE_TOOLS } from './sandboxes/namespaces.ts';
import { createProcessSandbox } from './sandboxes/process-only.ts';
import type { HostPaths, Sandbox, SandboxLimits } from './sandboxes/sandbox.ts';
import { findTool, findTools, findLibraries } from './sandboxes/tools.ts';

export type CodeLevel = 'strict' | 'basic' | 'off';

/** `auto`: the kinds of sandbox that this machine offers. */
export type CodeDriver = 'auto' | 'bubblewrap' | 'namespaces' | 'docker' | 'podman';

export interface SandboxOptions {
  readonly level: Exclude<CodeLevel, 'off'>;
  readonly driver: CodeDriver;
  /** Image for a container engine. */
  readonly image: string;
}

/** Creates a sandbox of one kind for the given paths and limits. */
export type SandboxFactory = (host: HostPaths, limits: SandboxLimits) => Sandbox;

export interface SandboxCandidates {
  /** In order of preference. */
  readonly sandboxes: readonly SandboxFactory[];
  /** Reasons why other kinds are unavailable. */
  readonly reasons: readonly string[];
  /** Layers that all of them lack, with the reason. */
  readonly missingLayers?: readonly string[];
}

/** Variables by which the command of a container engine finds its daemon or its store. */
const ENGINE_VARIABLES = [
  'PATH',
  'HOME',
  'DOCKER_HOST',
  'DOCKER_CONTEXT',
  'DOCKER_CONFIG',
  'XDG_RUNTIME_DIR',
  'CONTAINER_HOST',
  'CONTAINERS_CONF',
  'CONTAINERS_STORAGE_CONF',
];

interface System {
  readonly platform: string;
  /** Whether the service may assign users (`canAssignUsers`). */
  readonly isRoot: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly findTool: typeof findTool;
  /** Returns the reason if there is no memory cgroup. */
  readonly findCgroupParent: () => CgroupParent | string;
}

/** The system that the service runs on. */
export const LOCAL_SYSTEM: System = {
  platform: platform(),
  isRoot: canAssignUsers(),
  env: process.env,
  findTool,
  findCgroupParent,
};

/**
 * Lists the sandboxes that may isolate programs at this level on this system. An attack verifies each of them later.
 */
export function chooseSandboxes(options: SandboxOptions, system: System = LOCAL_SYSTEM): SandboxCandidates {
  const kinds = options.level === 'basic' ? (['process'] as const) : listKinds(options.driver, system);
  const sandboxes: SandboxFactory[] = [];
  const reasons: string[] = [];
  // A container engine has cgroups of its own.
  const cgroup =
    system.platform === 'linux' && kinds.some((kind) => kind !== 'docker' && kind !== 'podman')
      ? system.findCgroupParent()
      : undefined;
  for (const kind of kinds) {
    const factory = KINDS[kind](options, system);
    if (typeof factory === 'string') reasons.push(factory);
    else if (typeof cgroup !== 'object') sandboxes.push(factory);
    else sandboxes.push((host, limits) => addMemoryCgroup(factory(host, limits), cgroup, limits));
  }
  return { sandboxes, reasons, ...(typeof cgroup === 'string' && { missingLayers: [`no memory cgroup: ${cgroup}`] }) };
}

type Kind = 'process' | 'bubblewrap' | 'namespaces' | 'docker' | 'podman';

function listKinds(driver: CodeDriver, { isRoot }: System): readonly Kind[] {
  if (driver !== 'auto') return [driver];
  // Only `namespaces`, started as root, can give programs a user id of their own; in bubblewrap they remain root.
  return isRoot ? ['namespaces', 'bubblewrap'] : ['bubblewrap', 'namespaces'];
}

const KINDS: Readonly<Record<Kind, (options: SandboxOptions, system: System) => SandboxFactory | string>> = {
  process(_options, system) {
    const found = checkLinux('basic', system) ?? findTools(['prlimit', 'setpriv'] as const, system.env.PATH);
    if (typeof found === 'string') return found;
    if ('missing' in found) return `there is no ${found.missing}, which the level basic requires (package util-linux)`;
    return (host, limits) => createProcessSandbox(host, limits, found.tools);
  },
  bubblewrap(_options, system) {
    const found = checkLinux('bubblewrap', system) ?? findTools(['bwrap', 'prlimit'] as const, system.env.PATH);
    if (typeof found === 'string') return found;
    if ('missing' in found) return `there is no ${found.missing} (package bubblewrap)`;
    return (host, limits) => createBubblewrapSandbox(host, limits, found.tools, findLibraries);
  },
  namespaces(_options, system) {
    const found = checkLinux('namespaces', system) ?? findTools(NAMESPACE_TOOLS, system.env.PATH);
    if (typeof found === 'string') return found;
    if ('missing' in found) return `there is no ${found.missing} (package util-linux)`;
    const { isRoot } = system;
    return (host, limits) =>
      createNamespaceSandbox(host, limits, found.tools, { libraries: findLibraries(host.node), isRoot });
  },
  docker: (options, system) => createContainerEngineFactory('docker', options, system),
  podman: (options, system) => createContainerEngineFactory('podman', options, system),
};

const checkLinux = (feature: string, system: System): string | undefined =>
  system.platform === 'linux'
    ? undefined
    : `${feature} requires Linux; on other systems, configure a container engine as driver`;

function createContainerEngineFactory(
  name: 'docker' | 'podman',
  { image }: SandboxOptions,
  { env, ...system }: System,
): SandboxFactory | string {
  const command = system.findTool(name, env.PATH);
  if (command === undefined) return `there is no ${name}`;
  const engineEnvironment = Object.fromEntries(
    ENGINE_VARIABLES.flatMap((variable) => {
      const value = env[variable];
      return value === undefined ? [] : [[variable, value]];
    }),
  );
  return (host, limits) => createContainerSandbox(host, limits, { name, command, image, env: engineEnvironment });
}
