import { getSandboxPaths, SANDBOX_PATHS } from './sandbox.ts';
import type { HostPaths, SandboxPaths, SandboxProgram } from './sandbox.ts';

/** Chosen: MiB of the JavaScript heap; Python's memory is outside of it. */
const HEAP_MB = 256;

/** Extension of this file, and so of all source files: `.ts` in the sources, `.js` in the build. */
const SOURCE_EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

/** Enables JSPI, which `asyncio.run` needs in Python; newer runtimes enable it by default. */
const JSPI_FLAGS = Reflect.has(Reflect.get(globalThis, 'WebAssembly') as object, 'Suspending')
  ? []
  : ['--experimental-wasm-jspi'];

/** Returns the arguments of Node, with all restrictions that Node itself can enforce. */
export function buildNodeArguments(
  places: SandboxPaths,
  { name, usesPermissions }: { readonly name: string; readonly usesPermissions: boolean },
): readonly string[] {
  const { childFolder, pyodideFolder, snapshotFile, wheelsFolder } = places;
  const readable = [childFolder, pyodideFolder, snapshotFile, wheelsFolder].filter((path) => path !== undefined);
  return [
    '--disable-warning=ExperimentalWarning',
    '--disable-warning=SecurityWarning',
    '--disallow-code-generation-from-strings',
    // Otherwise a signal could open a debugger port.
    '--disable-sigusr1',
    `--max-old-space-size=${HEAP_MB}`,
    ...JSPI_FLAGS,
    ...(usesPermissions ? ['--permission', ...readable.map((path) => `--allow-fs-read=${path}`)] : []),
    `${childFolder}/${name}${SOURCE_EXTENSION}`,
  ];
}

/** Returns the command of a program within a sandbox that has its own root. `node`: the command of the runtime there. */
export function buildSandboxedCommand(
  host: HostPaths,
  node: readonly string[],
  program: SandboxProgram,
): readonly string[] {
  const { launcher, nativeAttacks } = SANDBOX_PATHS;
  return [
    ...(host.native ? [launcher] : []),
    ...(program.name === 'native-attacks'
      ? [nativeAttacks]
      : [...node, ...buildNodeArguments(getSandboxPaths(host), program)]),
  ];
}
