/** What the processes of programs are kept in. */
export interface Sandbox {
  readonly name: SandboxName;
  readonly level: 'strict' | 'basic';
  /** How one of our programs is started in it. */
  launch(program: SandboxProgram): Launch;
}

export type SandboxName = 'bubblewrap' | 'namespaces' | 'process' | 'docker' | 'podman';

/**
 * `main` runs Python; `attack` tries what must not be possible. Without `isSealed` the runtime's own permissions are left out, so
 * that the sandbox around it is what has to hold.
 */
export interface SandboxProgram {
  readonly name: 'main' | 'attack';
  readonly isSealed: boolean;
}

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly places: Places;
  /** Of the command; it never gets to what runs in the sandbox. */
  readonly env: Readonly<Record<string, string>>;
  /** Where killing the command does not end what it started. */
  readonly end?: { readonly command: string; readonly args: readonly string[] };
}

/** Where the process finds its things, as it sees them. */
export interface Places {
  readonly childFolder: string;
  readonly pyodideFolder: string;
  readonly snapshotFile?: string;
  readonly wheelsFolder?: string;
}

/** The same on this machine, and what else a sandbox is made of. */
export interface HostPlaces extends Places {
  readonly node: string;
  /** Says of our code that it is modules. */
  readonly packageFile: string;
  /** An empty folder of ours. */
  readonly emptyFolder: string;
}

export interface SandboxLimits {
  readonly memoryMb: number;
  /** Of the processor, in the life of a process. */
  readonly cpuSeconds: number;
}

/** Ours: MiB that a process needs beside the memory of Python: code, heap, stacks of threads, copies of what it loads. */
export const PROCESS_MB = 896;

/** Ours: processes and threads of one sandbox: the runtime has a dozen. */
export const PROCESSES_MAX = 32;

/** Where things lie in a sandbox that has a root of its own. */
const INNER_PLACES = {
  childFolder: '/app/child',
  pyodideFolder: '/app/pyodide',
  snapshotFile: '/app/snapshot',
  wheelsFolder: '/app/wheels',
  packageFile: '/app/package.json',
} as const;

/** What is to be seen in a sandbox that has a root of its own: from where, and as what. Nothing of it can be changed. */
export function bindings(host: HostPlaces): readonly (readonly [from: string, to: string])[] {
  return [
    [host.childFolder, INNER_PLACES.childFolder],
    [host.packageFile, INNER_PLACES.packageFile],
    [host.pyodideFolder, INNER_PLACES.pyodideFolder],
    ...(host.snapshotFile === undefined ? [] : [[host.snapshotFile, INNER_PLACES.snapshotFile] as const]),
    ...(host.wheelsFolder === undefined ? [] : [[host.wheelsFolder, INNER_PLACES.wheelsFolder] as const]),
  ];
}

/** The places within it, of what the host has. */
export function innerPlaces(host: HostPlaces): Places {
  const { childFolder, pyodideFolder, snapshotFile, wheelsFolder } = INNER_PLACES;
  return {
    childFolder,
    pyodideFolder,
    ...(host.snapshotFile !== undefined && { snapshotFile }),
    ...(host.wheelsFolder !== undefined && { wheelsFolder }),
  };
}
