import type { NativePrograms } from '../native/native-programs.ts';

/** An isolated environment for the processes that run programs. */
export interface Sandbox {
  readonly name: SandboxName;
  readonly level: 'strict' | 'basic';
  /** Whether the processes should be in a memory cgroup. */
  readonly hasMemoryCgroup: boolean;
  /** Returns the command that starts a program of Parley in the sandbox. */
  launch(program: SandboxProgram): SandboxLaunch;
}

export type SandboxName = 'bubblewrap' | 'namespaces' | 'process' | 'docker' | 'podman';

/**
 * `main` runs Python; `attack` and the native program `native-attacks` run the attacks. Without `usesPermissions` Node's
 * permissions are off, and without `usesFilter` the filter of system calls, so that only the other layers restrict the
 * process.
 */
export type SandboxProgram =
  | { readonly name: 'main' | 'attack'; readonly usesPermissions: boolean; readonly usesFilter: boolean }
  | { readonly name: 'native-attacks'; readonly usesFilter: boolean };

export interface SandboxLaunch {
  readonly command: string;
  readonly args: readonly string[];
  readonly paths: SandboxPaths;
  /** Environment of the command; processes in the sandbox do not get it. */
  readonly env: Readonly<Record<string, string>>;
  /** The container that `command` creates, which killing `command` does not remove: command and name of its engine. */
  readonly container?: { readonly engine: string; readonly name: string };
  /** Called when `command` has ended; may be called twice. */
  readonly release?: () => void;
}

/** Paths of the required files, as the process sees them. */
export interface SandboxPaths {
  readonly childFolder: string;
  readonly pyodideFolder: string;
  readonly snapshotFile?: string;
  readonly wheelsFolder?: string;
}

/** The same paths on this machine, and other files that a sandbox needs. */
export interface HostPaths extends SandboxPaths {
  readonly node: string;
  /** The package.json that declares Parley's code as ES modules. */
  readonly packageFile: string;
  /** An empty folder of Parley. */
  readonly emptyFolder: string;
  /** Absent on a processor for which Parley assembles none. */
  readonly native?: NativePrograms;
}

export interface SandboxLimits {
  readonly memoryMb: number;
  /** CPU time of a process during its life. */
  readonly cpuSeconds: number;
}

/** Chosen: MiB that a process needs in addition to Python's memory: code, heap, stacks, copies of loaded files. */
export const PROCESS_OVERHEAD_MB = 896;

/** Chosen: MiB for the native attacks and the programs that start them: little, so that exceeding it is quick. */
export const NATIVE_ATTACKS_MB = 64;

/** Returns the limit of a memory cgroup for a program, in MiB. */
export const getCgroupMb = ({ memoryMb }: SandboxLimits, { name }: SandboxProgram): number =>
  name === 'native-attacks' ? NATIVE_ATTACKS_MB : memoryMb + PROCESS_OVERHEAD_MB;

/** Chosen: processes and threads of one sandbox; the runtime uses about a dozen. */
export const PROCESSES_MAX = 32;

/** Paths within a sandbox that has its own root. */
export const SANDBOX_PATHS = {
  childFolder: '/app/child',
  pyodideFolder: '/app/pyodide',
  snapshotFile: '/app/snapshot',
  wheelsFolder: '/app/wheels',
  packageFile: '/app/package.json',
  launcher: '/app/launcher',
  nativeAttacks: '/app/native-attacks',
} as const;

/** Returns the read-only bind mounts of a sandbox that has its own root. */
export function getBindMounts(
  host: HostPaths,
  { name, usesFilter }: SandboxProgram,
): readonly (readonly [from: string, to: string])[] {
  const { launcher, nativeAttacks } = SANDBOX_PATHS;
  return [
    ...(host.native ? [[usesFilter ? host.native.launcher : host.native.unfilteredLauncher, launcher] as const] : []),
    ...(host.native && name === 'native-attacks' ? [[host.native.attacks, nativeAttacks] as const] : []),
    [host.childFolder, SANDBOX_PATHS.childFolder],
    [host.packageFile, SANDBOX_PATHS.packageFile],
    [host.pyodideFolder, SANDBOX_PATHS.pyodideFolder],
    ...(host.snapshotFile === undefined ? [] : [[host.snapshotFile, SANDBOX_PATHS.snapshotFile] as const]),
    ...(host.wheelsFolder === undefined ? [] : [[host.wheelsFolder, SANDBOX_PATHS.wheelsFolder] as const]),
  ];
}

/** Returns the paths within such a sandbox for the files that the host has. */
export function getSandboxPaths(host: HostPaths): SandboxPaths {
  const { childFolder, pyodideFolder, snapshotFile, wheelsFolder } = SANDBOX_PATHS;
  return {
    childFolder,
    pyodideFolder,
    ...(host.snapshotFile !== undefined && { snapshotFile }),
    ...(host.wheelsFolder !== undefined && { wheelsFolder }),
  };
}
