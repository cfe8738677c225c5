import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { platform } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CODE_CPU_FULL_RUNS } from './limits.ts';
import type { CodeOutput } from '../../core/server-tools.ts';
import { attackNatively } from './attack-natively.ts';
import { attackSandbox } from './attack-sandbox.ts';
import type { ProgramLimits } from './child/messages.ts';
import type { SandboxCandidates, SandboxFactory } from './choose-sandboxes.ts';
import { SandboxTimeoutError } from './sandbox-timeout-error.ts';
import { explainFailure, readSystemState } from './explain-failure.ts';
import { ensureNativePrograms, readSessionKeyring } from './native/native-programs.ts';
import { getProcessor } from './native/system-calls.ts';
import { startProgramProcess } from './program-process.ts';
import type { ProgramProcess } from './program-process.ts';
import { createPythonAttacks } from './python-attacks.ts';
import type { HostPaths, Sandbox } from './sandboxes/sandbox.ts';
import { ensureSnapshot } from './snapshot.ts';

export interface PrepareSandboxOptions {
  /** Folder for the snapshot of the interpreter, created if missing. */
  readonly folder: string;
  /** Folder of Pyodide wheels that programs may import. */
  readonly wheelsFolder?: string | undefined;
  readonly memoryMb: number;
  /** Wall-clock limit of one program. */
  readonly seconds: number;
  readonly startMsMax: number;
  readonly limits: ProgramLimits;
  /** Aborts the attacks, which then fail. */
  readonly signal: AbortSignal;
}

export type PreparedSandbox =
  | {
      readonly sandbox: Sandbox;
      readonly start: () => ProgramProcess;
      readonly reasons: readonly string[];
      /** Layers that the verification has found active. */
      readonly layers: readonly SandboxLayer[];
    }
  | {
      readonly sandbox?: never;
      readonly layers?: never;
      readonly start?: never;
      readonly reasons: readonly string[];
      /** True if the verification of some sandbox timed out. */
      readonly isTimeout: boolean;
    };

/** Layers of the system around a process; docs/security.md describes them. */
export type SandboxLayer =
  | 'limits'
  | 'namespaces'
  | 'container'
  | 'session keyring'
  | 'system call filter'
  | 'memory cgroup';

const NO_KEYRING =
  'it has no session keyring of its own, because the system has no keyrings or forbids keyctl, as docker does; the filter refuses keyctl anyway';

const require = createRequire(import.meta.url);

/** Memory limit during the attacks: low, so that exhausting it is quick. */
const ATTACK_MEMORY_MB = 64;

/**
 * Returns the first sandbox that withstands the attacks of a process with the whole runtime and of a Python program.
 * @returns no sandbox if none does; `reasons` contains the reason of each failed one.
 */
export async function prepareSandbox(
  { sandboxes, reasons, missingLayers = [] }: SandboxCandidates,
  options: PrepareSandboxOptions,
): Promise<PreparedSandbox> {
  const failures = [...reasons];
  if (sandboxes.length === 0) return { reasons: failures, isTimeout: false };
  let isTimeout = false;
  const { folder, wheelsFolder, memoryMb, seconds } = options;
  const emptyFolder = join(folder, 'root');
  await mkdir(emptyFolder, { recursive: true, mode: 0o755 });
  const processor = getProcessor();
  const native = processor && (await ensureNativePrograms(join(folder, 'native'), processor));
  const keyring = native && platform() === 'linux' ? await readSessionKeyring(native) : 0n;
  const host: HostPaths = {
    ...findHostPaths(),
    emptyFolder: realpathSync(emptyFolder),
    ...(native && { native }),
  };
  const wheels = wheelsFolder === undefined ? undefined : realpathSync(wheelsFolder);
  const wheelNames =
    wheels === undefined ? [] : (await readdir(wheels)).filter((name) => name.endsWith('.whl')).toSorted();
  const cpuSeconds = seconds * CODE_CPU_FULL_RUNS;
  for (const make of sandboxes) {
    options.signal.throwIfAborted();
    const candidate = make(host, { memoryMb: ATTACK_MEMORY_MB, cpuSeconds });
    try {
      const layers = await verifySandbox(candidate, {
        hasNative: native !== undefined,
        keyring,
        signal: options.signal,
      });
      const sandbox = await createSandboxWithFiles(make, host, { ...options, wheels, cpuSeconds });
      const start = (): ProgramProcess =>
        startProgramProcess(sandbox, { ...options, msMax: seconds * 1_000, wheelNames });
      await attackWithPython(start(), memoryMb, options.signal);
      const hasBrokenCgroup = candidate.hasMemoryCgroup && !layers.includes('memory cgroup');
      const missing = [
        ...(hasBrokenCgroup ? ['its memory cgroup does not bound shared memory'] : missingLayers),
        ...(native && !layers.includes('session keyring') ? [NO_KEYRING] : []),
      ];
      return { sandbox, start, reasons: [...failures, ...missing], layers };
    } catch (error) {
      isTimeout ||= error instanceof SandboxTimeoutError;
      failures.push(`${candidate.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const explanation = explainFailure(failures.join('; '), readSystemState());
  return { reasons: [...failures, ...(explanation === undefined ? [] : [explanation])], isTimeout };
}

/**
 * Attacks a sandbox with everything but programs.
 * @returns its layers.
 * @throws Error with the reason if an attack succeeded; SandboxTimeoutError if one took too long for a result.
 */
async function verifySandbox(
  sandbox: Sandbox,
  {
    hasNative,
    keyring,
    signal,
  }: { readonly hasNative: boolean; readonly keyring: bigint; readonly signal: AbortSignal },
): Promise<readonly SandboxLayer[]> {
  if (!hasNative && sandbox.level === 'strict')
    throw new Error(`level strict needs a filter of system calls, which Parley has for x64 and arm64 only`);
  const breach = await attackSandbox(sandbox, { memoryMb: ATTACK_MEMORY_MB, signal });
  if (breach !== undefined) throw new Error(breach);
  const layers = LAYERS[sandbox.name];
  if (!hasNative) return layers;
  const outcome = await attackNatively(sandbox, { keyring, signal });
  if (outcome.breach !== undefined) throw new Error(outcome.breach);
  return [
    ...layers,
    ...(outcome.hasSessionKeyring ? (['session keyring'] as const) : []),
    'system call filter',
    ...(outcome.hasMemoryCgroup ? (['memory cgroup'] as const) : []),
  ];
}

const LAYERS: Readonly<Record<Sandbox['name'], readonly SandboxLayer[]>> = {
  process: ['limits'],
  namespaces: ['limits', 'namespaces'],
  bubblewrap: ['limits', 'namespaces'],
  docker: ['limits', 'container'],
  podman: ['limits', 'container'],
};

/** Creates a sandbox with the snapshot of the interpreter, which is created if it is missing, and wheels. */
export async function createSandboxWithFiles(
  make: SandboxFactory,
  host: HostPaths,
  {
    folder,
    wheels,
    memoryMb,
    cpuSeconds,
    limits,
    signal,
  }: Pick<PrepareSandboxOptions, 'folder' | 'memoryMb' | 'limits' | 'signal'> & {
    readonly wheels: string | undefined;
    readonly cpuSeconds: number;
  },
): Promise<Sandbox> {
  const bounds = { memoryMb, cpuSeconds };
  const { version: pyodideVersion } = require('pyodide/package.json') as { readonly version: string };
  const snapshotFile = await ensureSnapshot({ folder, pyodideVersion, sandbox: make(host, bounds), limits, signal });
  const places = {
    ...host,
    snapshotFile: realpathSync(snapshotFile),
    ...(wheels !== undefined && { wheelsFolder: wheels }),
  };
  return make(places, bounds);
}

async function attackWithPython(process: ProgramProcess, memoryMb: number, signal: AbortSignal): Promise<void> {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    signal.addEventListener('abort', process.kill, { once: true });
    if (signal.aborted) process.kill();
    await process.ready;
    const { escapes, memory } = createPythonAttacks({ port, memoryMb });
    // The memory attack runs alone: it may end the process, and the results of other attacks would be lost.
    assertContained(await process.run({ code: escapes, files: [] }, signal));
    const took = await process.run({ code: memory, files: [] }, signal);
    if (took.error?.type !== 'memory') assertContained(took);
  } finally {
    signal.removeEventListener('abort', process.kill);
    process.kill();
    server.close();
  }
}

/** @throws Error if an attack succeeded; SandboxTimeoutError if the program took too long for a result. */
function assertContained({ value, error }: CodeOutput): void {
  if (error?.type === 'time') throw new SandboxTimeoutError(`the attacking program took too long: ${error.message}`);
  if (value !== '[]')
    throw new Error(`it does not contain a program, which reached ${value ?? error?.message ?? 'no result'}`);
}

/** Finds the runtime and Parley's files for a sandbox on this machine. */
export function findHostPaths(): Omit<HostPaths, 'emptyFolder' | 'native'> {
  const resolvePath = (path: string): string => realpathSync(fileURLToPath(new URL(path, import.meta.url)));
  return {
    node: realpathSync(process.execPath),
    childFolder: resolvePath('./child'),
    packageFile: resolvePath('../../../package.json'),
    pyodideFolder: dirname(realpathSync(require.resolve('pyodide/package.json'))),
  };
}
