import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CODE_CPU_FULL_RUNS } from './limits.ts';
import type { CodeOutput } from '../../core/server-tools.ts';
import { attackSandbox } from './attack-sandbox.ts';
import type { ProgramLimits } from './child/messages.ts';
import type { SandboxCandidates, SandboxFactory } from './choose-sandboxes.ts';
import { SandboxTimeoutError } from './sandbox-timeout-error.ts';
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
  | { readonly sandbox: Sandbox; readonly start: () => ProgramProcess; readonly reasons: readonly string[] }
  | {
      readonly sandbox?: never;
      readonly start?: never;
      readonly reasons: readonly string[];
      /** True if the verification of some sandbox timed out. */
      readonly isTimeout: boolean;
    };

const require = createRequire(import.meta.url);

/** Memory limit during the attacks: low, so that exhausting it is quick. */
const ATTACK_MEMORY_MB = 64;

/**
 * Returns the first sandbox that withstands the attacks of a process with the whole runtime and of a Python program.
 * @returns no sandbox if none does; `reasons` contains the reason of each failed one.
 */
export async function prepareSandbox(
  { sandboxes, reasons }: SandboxCandidates,
  options: PrepareSandboxOptions,
): Promise<PreparedSandbox> {
  const failures = [...reasons];
  if (sandboxes.length === 0) return { reasons: failures, isTimeout: false };
  let isTimeout = false;
  const { folder, wheelsFolder, memoryMb, seconds } = options;
  const emptyFolder = join(folder, 'root');
  await mkdir(emptyFolder, { recursive: true, mode: 0o755 });
  const host: HostPaths = { ...findHostPaths(), emptyFolder: realpathSync(emptyFolder) };
  const wheels = wheelsFolder === undefined ? undefined : realpathSync(wheelsFolder);
  const wheelNames =
    wheels === undefined ? [] : (await readdir(wheels)).filter((name) => name.endsWith('.whl')).toSorted();
  const cpuSeconds = seconds * CODE_CPU_FULL_RUNS;
  for (const make of sandboxes) {
    options.signal.throwIfAborted();
    const candidate = make(host, { memoryMb: ATTACK_MEMORY_MB, cpuSeconds });
    try {
      const breach = await attackSandbox(candidate, { memoryMb: ATTACK_MEMORY_MB, signal: options.signal });
      if (breach !== undefined) throw new Error(breach);
      const sandbox = await createSandboxWithFiles(make, host, { ...options, wheels, cpuSeconds });
      const start = (): ProgramProcess =>
        startProgramProcess(sandbox, { ...options, msMax: seconds * 1_000, wheelNames });
      await attackWithPython(start(), memoryMb, options.signal);
      return { sandbox, start, reasons: failures };
    } catch (error) {
      isTimeout ||= error instanceof SandboxTimeoutError;
      failures.push(`${candidate.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { reasons: failures, isTimeout };
}

async function createSandboxWithFiles(
  make: SandboxFactory,
  host: HostPaths,
  {
    folder,
    wheels,
    memoryMb,
    cpuSeconds,
    limits,
    signal,
  }: PrepareSandboxOptions & { readonly wheels: string | undefined; readonly cpuSeconds: number },
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

function findHostPaths(): Omit<HostPaths, 'emptyFolder'> {
  const resolvePath = (path: string): string => realpathSync(fileURLToPath(new URL(path, import.meta.url)));
  return {
    node: realpathSync(process.execPath),
    childFolder: resolvePath('./child'),
    packageFile: resolvePath('../../../package.json'),
    pyodideFolder: dirname(realpathSync(require.resolve('pyodide/package.json'))),
  };
}
