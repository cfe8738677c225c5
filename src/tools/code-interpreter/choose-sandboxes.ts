import { platform } from 'node:os';
import { createBubblewrap } from './sandboxes/bubblewrap.ts';
import { createContainerEngine } from './sandboxes/container-engine.ts';
import { createNamespaces, NAMESPACE_TOOLS } from './sandboxes/namespaces.ts';
import { createProcessOnly } from './sandboxes/process-only.ts';
import type { HostPlaces, Sandbox, SandboxLimits } from './sandboxes/sandbox.ts';
import { findTool, findTools, librariesOf } from './sandboxes/tools.ts';

export type CodeLevel = 'strict' | 'basic' | 'off';

/** `auto`: whatever of this machine contains programs. */
export type CodeDriver = 'auto' | 'bubblewrap' | 'namespaces' | 'docker' | 'podman';

export interface SandboxWish {
  readonly level: Exclude<CodeLevel, 'off'>;
  readonly driver: CodeDriver;
  /** Of a container engine. */
  readonly image: string;
}

/** Makes a sandbox of one kind; another one for each image and limit. */
export type MakeSandbox = (host: HostPlaces, limits: SandboxLimits) => Sandbox;

export interface Candidates {
  /** Best first. */
  readonly sandboxes: readonly MakeSandbox[];
  /** Why others are not among them. */
  readonly reasons: readonly string[];
}

/** Variables by which the program of a container engine finds its daemon or its store. */
const ENGINE_VARIABLES = [
  'PATH',
  'HOME',
  'DOCKER_HOST',
  'DOCKER_CONTEXT',
  'DOCKER_CONFIG',
  'XDG_RUNTIME_DIR',
  'CONTAINER_HOST',
];

interface System {
  readonly platform: string;
  readonly isRoot: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const thisSystem: System = { platform: platform(), isRoot: process.getuid?.() === 0, env: process.env };

/** What could keep programs at this level here. Whether it does is found out by attacking it. */
export function chooseSandboxes(wish: SandboxWish, system: System = thisSystem): Candidates {
  const kinds = wish.level === 'basic' ? (['process'] as const) : kindsOf(wish.driver, system);
  const sandboxes: MakeSandbox[] = [];
  const reasons: string[] = [];
  for (const kind of kinds) {
    const made = KINDS[kind](wish, system);
    if (typeof made === 'string') reasons.push(made);
    else sandboxes.push(made);
  }
  return { sandboxes, reasons };
}

type Kind = 'process' | 'bubblewrap' | 'namespaces' | 'docker' | 'podman';

function kindsOf(driver: CodeDriver, { isRoot }: System): readonly Kind[] {
  if (driver !== 'auto') return [driver];
  // As root, only the latter can give programs a user of their own; in bubblewrap's namespace they are still root's.
  return isRoot ? ['namespaces', 'bubblewrap'] : ['bubblewrap', 'namespaces'];
}

const KINDS: Readonly<Record<Kind, (wish: SandboxWish, system: System) => MakeSandbox | string>> = {
  process(_wish, system) {
    const found = onLinux('basic', system) ?? findTools(['prlimit', 'setpriv'] as const, system.env.PATH);
    if (typeof found === 'string') return found;
    if ('missing' in found) return `there is no ${found.missing}, which basic needs (package util-linux)`;
    return (host, limits) => createProcessOnly(host, limits, found.tools);
  },
  bubblewrap(_wish, system) {
    const found = onLinux('bubblewrap', system) ?? findTools(['bwrap', 'prlimit'] as const, system.env.PATH);
    if (typeof found === 'string') return found;
    if ('missing' in found) return `there is no ${found.missing} (package bubblewrap)`;
    return (host, limits) => createBubblewrap(host, limits, found.tools, librariesOf);
  },
  namespaces(_wish, system) {
    const found = onLinux('namespaces', system) ?? findTools(NAMESPACE_TOOLS, system.env.PATH);
    if (typeof found === 'string') return found;
    if ('missing' in found) return `there is no ${found.missing} (package util-linux)`;
    const { isRoot } = system;
    return (host, limits) => createNamespaces(host, limits, found.tools, { libraries: librariesOf(host.node), isRoot });
  },
  docker: (wish, system) => containerEngine('docker', wish, system),
  podman: (wish, system) => containerEngine('podman', wish, system),
};

const onLinux = (what: string, system: System): string | undefined =>
  system.platform === 'linux' ? undefined : `${what} needs Linux; a container engine can be named as driver`;

function containerEngine(name: 'docker' | 'podman', { image }: SandboxWish, { env }: System): MakeSandbox | string {
  const command = findTool(name, env.PATH);
  if (command === undefined) return `there is no ${name}`;
  const own = Object.fromEntries(
    ENGINE_VARIABLES.flatMap((variable) => {
      const value = env[variable];
      return value === undefined ? [] : [[variable, value]];
    }),
  );
  return (host, limits) => createContainerEngine(host, limits, { name, command, image, env: own });
}
