/** An isolated environment for the processes that run programs. */
export interface Sandbox {
  readonly name: SandboxName;
  readonly level: 'strict' | 'basic';
  /** Returns the command that starts a program of Parley in the sandbox. */
  launch(program: SandboxProgram): SandboxLaunch;
}

export type SandboxName = 'bubblewrap' | 'namespaces' | 'process' | 'docker' | 'podman';

/**
 * `main` runs Python; `attack` runs the attacks. Without `usesPermissions` Node's permissions are off, so that only the
 * sandbox restricts the process.
 */
export interface SandboxProgram {
  readonly name: 'main' | 'attack';
  readonly usesPermissions: boolean;
}

export interface SandboxLaunch {
  readonly command: string;
  readonly args: readonly string[];
  readonly paths: SandboxPaths;
  /** Environment of the command; processes in the sandbox do not get it. */
  readonly env: Readonly<Record<string, string>>;
  /** Command that ends the processes if killing `command` does not. */
  readonly killCommand?: { readonly command: string; readonly args: readonly string[] };
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
}

export interface SandboxLimits {
  readonly memoryMb: number;
  /** CPU time of a process during its life. */
  readonly cpuSeconds: number;
}

/** Chosen: MiB that a process needs in addition to Python's memory: code, heap, stacks, copies of loaded files. */
export const PROCESS_OVERHEAD_MB = 896;

/** Chosen: processes and threads of one sandbox; the runtime uses about a dozen. */
export const PROCESSES_MAX = 32;

/** Paths within a sandbox that has its own root. */
const SANDBOX_PATHS = {
  childFolder: '/app/child',
  pyodideFolder: '/app/pyodide',
  snapshotFile: '/app/snapshot',
  wheelsFolder: '/app/wheels',
  packageFile: '/app/package.json',
} as const;

/** Returns the read-only bind mounts of a sandbox that has its own root. */
export function getBindMounts(host: HostPaths): readonly (readonly [from: string, to: string])[] {
  return [
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
