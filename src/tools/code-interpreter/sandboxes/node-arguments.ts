import type { Places, SandboxProgram } from './sandbox.ts';

/** Ours: MiB of the runtime's own heap; Python's memory is not in it. */
const HEAP_MB = 256;

/** Of this file, and so of all others: from sources or from what was built of them. */
const ENDING = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

/** Lets Python wait for what goes on beside it (`asyncio.run`); newer runtimes have it without being asked. */
const WAITING_FLAGS = Reflect.has(Reflect.get(globalThis, 'WebAssembly') as object, 'Suspending')
  ? []
  : ['--experimental-wasm-jspi'];

/** How the runtime is called, so that it closes by itself what it can close. */
export function nodeArguments(places: Places, { name, isSealed }: SandboxProgram): readonly string[] {
  const { childFolder, pyodideFolder, snapshotFile, wheelsFolder } = places;
  const readable = [childFolder, pyodideFolder, snapshotFile, wheelsFolder].filter((path) => path !== undefined);
  return [
    '--disable-warning=ExperimentalWarning',
    '--disable-warning=SecurityWarning',
    '--disallow-code-generation-from-strings',
    // Nobody may make it listen for a debugger by a signal.
    '--disable-sigusr1',
    `--max-old-space-size=${HEAP_MB}`,
    ...WAITING_FLAGS,
    ...(isSealed ? ['--permission', ...readable.map((path) => `--allow-fs-read=${path}`)] : []),
    `${childFolder}/${name}${ENDING}`,
  ];
}
